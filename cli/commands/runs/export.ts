import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Database } from "../../../archive/database.ts";
import { exportRuns } from "../../../archive/export-runs.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { parseMoment } from "../../since.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { count } from "../../terminal.ts";
import { withArchive } from "./open-archive.ts";
import { allRuns, selectRuns } from "./select-run.ts";

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
  const sinceMs = flags.since === undefined ? 0 : parseMoment("--since", flags.since, Date.now());
  const path = resolve(cwd(), flags.out);
  if (existsSync(path)) throw new UsageError(`--out: ${flags.out} is there already; give another name`);
  return withArchive(flags, surroundings, async (db) => {
    if (db === undefined) return EXIT.usage;
    const runIds = selectIds(db, references, sinceMs);
    if (runIds.length === 0) throw new UsageError("no archived run matches: nothing was written");
    await exportRuns(db, runIds, path);
    if (flags.json) await write(stdout, `${JSON.stringify({ file: flags.out, exported: runIds })}\n`);
    await write(stderr, `ptc: wrote ${count(runIds.length, "run")} to ${flags.out}\n`);
    return EXIT.done;
  });
}

/** Each once, however it was named. */
function selectIds(db: Database, references: readonly string[], sinceMs: number): string[] {
  const runs =
    references.length > 0
      ? references.flatMap((reference) => selectRuns(db, reference))
      : [...allRuns(db, { sinceMs })];
  return [...new Set(runs.map(({ run_id }) => run_id))];
}
