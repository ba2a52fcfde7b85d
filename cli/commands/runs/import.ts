import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { openArchive } from "../../../host/open-archive.ts";
import { readRunFile } from "../../../host/run-files.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { loadArchiveConfiguration } from "./with-archive.ts";

interface ImportFlags {
  config?: string;
  json?: boolean;
}

/** `ptc runs import FILE` */
export const defineImport: DefineCommand = (runs, surroundings, finish) => {
  runs
    .command("import")
    .description(
      "take in the runs of a file that `ptc runs export` wrote; exit 1 when one of them is refused",
    )
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
  const archive = openArchive(await loadArchiveConfiguration(flags, surroundings));
  try {
    const taken = await readRunFile(archive, path, Date.now());
    const ids = flags.json ? `${jsonLine(taken)}\n` : taken.imported.map((runId) => `${runId}\n`).join("");
    await write(stdout, ids);
    const skipped =
      taken.skipped.length === 0 ? "" : `; ${countNoun(taken.skipped.length, "run")} here already`;
    const refused = taken.refused.length === 0 ? "" : `; ${countNoun(taken.refused.length, "run")} refused`;
    for (const { message } of taken.refused) await write(stderr, `ptc: ${oneLine(message)}\n`);
    await write(stderr, `ptc: imported ${countNoun(taken.imported.length, "run")}${skipped}${refused}\n`);
    return taken.refused.length === 0 ? EXIT.done : EXIT.failed;
  } finally {
    await archive.close();
  }
}
