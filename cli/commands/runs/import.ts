import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { openForWriting } from "../../../archive/connection.ts";
import { importRuns } from "../../../archive/import-runs.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { count } from "../../terminal.ts";
import { loadArchiveConfiguration } from "./open-archive.ts";

interface ImportFlags {
  config?: string;
  json?: boolean;
}

/** `ptc runs import FILE` */
export const defineImport: DefineCommand = (runs, surroundings, finish) => {
  runs
    .command("import")
    .description("take in the runs of a file that `ptc runs export` wrote: all of it or nothing")
    .argument("<file>", "the file")
    .option("--config <file>", "configuration file")
    .option("--json", "print the ids of the runs as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs import failing-run.ptc\n")
    .action(async (file: string, flags: ImportFlags) => {
      finish(await importFrom(file, flags, surroundings));
    });
};

async function importFrom(file: string, flags: ImportFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr, cwd } = surroundings;
  const path = resolve(cwd(), file);
  if (!existsSync(path)) throw new UsageError(`${file}: there is no such file`);
  const configuration = await loadArchiveConfiguration(flags, surroundings);
  const db = openForWriting(configuration.archive.path);
  try {
    const taken = await importRuns(db, path, Date.now());
    const ids = flags.json
      ? `${JSON.stringify(taken)}\n`
      : taken.imported.map((runId) => `${runId}\n`).join("");
    await write(stdout, ids);
    const skipped = taken.skipped.length === 0 ? "" : `; ${count(taken.skipped.length, "run")} here already`;
    await write(stderr, `ptc: imported ${count(taken.imported.length, "run")}${skipped}\n`);
    return EXIT.done;
  } finally {
    db.close();
  }
}
