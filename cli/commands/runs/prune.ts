import type { ArchiveStore, Pruned } from "../../../archive/archive-store.ts";
import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import type { Configuration } from "../../../host/configuration/configuration.ts";
import { formatBytes } from "../../../host/run-report/quantities.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { selectRunIds } from "./select-run.ts";
import { withArchive } from "./with-archive.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_DAYS = 36_500;

interface PruneFlags {
  config?: string;
  keepDays?: string;
  json?: boolean;
}

/** `ptc runs prune` */
export const definePrune: DefineCommand = (runs, surroundings, finish) => {
  runs
    .command("prune")
    .description("delete old runs, or those that are named, and whatever only they hold")
    .argument("[refs...]", "input digests (every run of it), run ids, or the beginning of one")
    .option("--config <file>", "configuration file")
    .option(
      "--keep-days <number>",
      "keep runs of this many days, instead of the configured keep_days; 0 keeps none",
    )
    .option("--json", "print what was deleted as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs prune --keep-days 7\n")
    .action(async (refs: string[], flags: PruneFlags) => {
      finish(await prune(refs, flags, surroundings));
    });
};

async function prune(
  references: readonly string[],
  flags: PruneFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const nowMs = Date.now();
  const chosenDays = parseDays(flags.keepDays);
  const named = references.length > 0;
  if (named && chosenDays !== undefined) throw new UsageError("--keep-days: give runs or days, not both");
  return withArchive(flags, surroundings, async (archive, configuration) => {
    refuseManaged(named ? 0 : chosenDays, configuration);
    const keepDays = named ? 0 : (chosenDays ?? configuration.archive.keepDays);
    // When no days are kept, everything is deleted, including runs whose dates lie in the future.
    const beforeMs = keepDays === 0 ? Number.POSITIVE_INFINITY : Math.max(0, nowMs - keepDays * DAY_MS);
    const prunedFrom = async (there: ArchiveStore): Promise<Pruned> =>
      named ? there.delete(await selectRunIds(there, references), nowMs) : there.prune({ beforeMs, nowMs });
    const pruned = archive === undefined ? { runs: 0, blobs: 0, bytes: 0 } : await prunedFrom(archive);
    await write(
      surroundings.stdout,
      flags.json ? `${jsonLine(pruned)}\n` : `${describe(pruned, keepDays)}\n`,
    );
    return EXIT.done;
  });
}

/** @throws UsageError where managed settings keep runs for longer. */
function refuseManaged(days: number | undefined, { managed }: Configuration): void {
  const longest = managed.find(({ archive }) => days !== undefined && days < (archive.keep_days ?? 0));
  if (longest !== undefined)
    throw new UsageError(
      `managed settings (${longest.file}) keep runs for ${countNoun(longest.archive.keep_days ?? 0, "day")}; \`ptc runs prune\` alone deletes older ones`,
    );
}

function describe({ runs, blobs, bytes }: Pruned, keepDays: number): string {
  const older = keepDays === 0 ? "" : ` older than ${countNoun(keepDays, "day")}`;
  if (runs === 0) return `no run${older} to delete`;
  return `deleted ${countNoun(runs, "run")}${older} and ${countNoun(blobs, "value")} of theirs, ${formatBytes(bytes)} on disk`;
}

function parseDays(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const days = Number(text);
  if (/^\d+$/.test(text) && days <= MAX_DAYS) return days;
  throw new UsageError(`--keep-days: '${text.slice(0, 40)}' is not a whole number from 0 to ${MAX_DAYS}`);
}
