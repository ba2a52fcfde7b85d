import { type Pruned, pruneRuns } from "../../../archive/prune.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { formatBytes } from "../../run-report/quantities.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { count } from "../../terminal.ts";
import { withArchiveToChange } from "./open-archive.ts";

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
    .description("delete old runs, and whatever only they hold")
    .option("--config <file>", "configuration file")
    .option(
      "--keep-days <number>",
      "keep runs of this many days, instead of the configured keep_days; 0 keeps none",
    )
    .option("--json", "print what was deleted as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs prune --keep-days 7\n")
    .action(async (flags: PruneFlags) => {
      finish(await prune(flags, surroundings));
    });
};

async function prune(flags: PruneFlags, surroundings: Surroundings): Promise<ExitCode> {
  const nowMs = Date.now();
  const chosenDays = parseDays(flags.keepDays);
  return withArchiveToChange(flags, surroundings, async (db, configuration) => {
    const keepDays = chosenDays ?? configuration.archive.keepDays;
    const beforeMs = Math.max(0, nowMs - keepDays * DAY_MS);
    const pruned: Pruned =
      db === undefined ? { runs: 0, blobs: 0, bytes: 0 } : pruneRuns(db, { beforeMs, nowMs });
    await write(
      surroundings.stdout,
      flags.json ? `${JSON.stringify(pruned)}\n` : `${describe(pruned, keepDays)}\n`,
    );
    return EXIT.done;
  });
}

function describe({ runs, blobs, bytes }: Pruned, keepDays: number): string {
  const older = keepDays === 0 ? "" : ` older than ${count(keepDays, "day")}`;
  if (runs === 0) return `no run${older} to delete`;
  return `deleted ${count(runs, "run")}${older} and ${count(blobs, "value")} of theirs, ${formatBytes(bytes)} on disk`;
}

function parseDays(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const days = Number(text);
  if (/^\d+$/.test(text) && days <= MAX_DAYS) return days;
  throw new UsageError(`--keep-days: '${text.slice(0, 40)}' is not a whole number from 0 to ${MAX_DAYS}`);
}
