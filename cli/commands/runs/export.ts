import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { ArchiveStore } from "../../../archive/archive-store.ts";
import { allRuns } from "../../../archive/reading/all-runs.ts";
import type { DamagedRun } from "../../../archive/reading/damaged-run.ts";
import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { writeRunFile } from "../../../host/run-files.ts";
import { parseMoment } from "../../arguments/since.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { selectRunIds } from "./select-run.ts";
import { tellDamaged } from "./tell-damaged.ts";
import { withArchive } from "./with-archive.ts";

interface ExportFlags {
  config?: string;
  since?: string;
  all?: boolean;
  out: string;
  json?: boolean;
}

/** `ptc runs export` */
export const defineExport: DefineCommand = (runs, surroundings, finish) => {
  runs
    .command("export")
    .description("write runs to one file that another ptc can import and replay")
    .argument("[refs...]", "input digests (every run of it), run ids, or the beginning of one")
    .requiredOption("--out <file>", "the file to write; it must not be there yet")
    .option("--config <file>", "configuration file")
    .option("--since <when>", "runs that started then or later: 24h, 7d, 2026-11-01 (UTC), 2026-11-01T08:30Z")
    .option("--all", "every run in the archive")
    .option("--json", "print the ids of the runs as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs export 3f9a12c0 --out failing-run.ptc\n")
    .action(async (refs: string[], flags: ExportFlags) => {
      finish(await exportTo(refs, flags, surroundings));
    });
};

async function exportTo(
  references: string[],
  flags: ExportFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, cwd } = surroundings;
  const ways = [references.length > 0, flags.since !== undefined, flags.all === true];
  if (ways.filter(Boolean).length !== 1)
    throw new UsageError("say what to export: runs, or --since, or --all");
  const filter =
    flags.since === undefined ? {} : { sinceMs: parseMoment("--since", flags.since, Date.now()) };
  const path = resolve(cwd(), flags.out);
  if (existsSync(path)) throw new UsageError(`--out: ${flags.out} is there already; give another name`);
  return withArchive(flags, surroundings, async (archive) => {
    if (archive === undefined) return EXIT.usage;
    const unlisted: DamagedRun[] = [];
    const runIds = await selectIds(archive, references, filter, (run) => void unlisted.push(run));
    if (runIds.length === 0 && unlisted.length === 0)
      throw new UsageError("no archived run matches: nothing was written");
    const { exported, damaged } = await writeRunFile(archive, runIds, path);
    const leftOut = [...unlisted, ...damaged];
    if (flags.json)
      await write(
        stdout,
        `${jsonLine({ file: flags.out, exported, ...(leftOut.length > 0 && { damaged: leftOut }) })}\n`,
      );
    await write(stderr, `ptc: wrote ${countNoun(exported.length, "run")} to ${flags.out}\n`);
    await tellDamaged(leftOut, surroundings);
    return leftOut.length === 0 ? EXIT.done : EXIT.failed;
  });
}

async function selectIds(
  archive: ArchiveStore,
  references: readonly string[],
  filter: { sinceMs?: number },
  onDamaged: (run: DamagedRun) => void,
): Promise<string[]> {
  if (references.length > 0) return selectRunIds(archive, references);
  const runIds: string[] = [];
  for await (const { run_id: runId } of allRuns(archive, filter, onDamaged)) runIds.push(runId);
  return runIds;
}
