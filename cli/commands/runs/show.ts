import type { Writable } from "node:stream";
import { type ArchivedRun, readRun } from "../../../archive/read-run.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { readPageAssets } from "../../run-report/page-assets.ts";
import { renderRunPage } from "../../run-report/run-page.ts";
import { renderRunText } from "../../run-report/run-text.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { terminalOf } from "../../terminal.ts";
import { withArchive } from "./open-archive.ts";
import { selectRun } from "./select-run.ts";
import { writePage } from "./write-page.ts";

interface ShowFlags {
  config?: string;
  html?: string;
  json?: boolean;
}

/** `ptc runs show REF` */
export const defineShow: DefineCommand = (runs, surroundings, finish) => {
  runs
    .command("show")
    .description("show one run: its program, calls, console and envelope")
    .argument("<ref>", "input digest, run id, or at least four characters that one begins with")
    .option("--config <file>", "configuration file")
    .option("--html <file>", "write it as one page that needs no network, instead of printing it")
    .option("--json", "print everything as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs show 3f9a12c0 --html run.html\n")
    .action(async (ref: string, flags: ShowFlags) => {
      finish(await show(ref, flags, surroundings));
    });
};

async function show(reference: string, flags: ShowFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  if (flags.html !== undefined && flags.json) throw new UsageError("--html and --json: give one of them");
  return withArchive(flags, surroundings, async (db) => {
    if (db === undefined) return EXIT.usage;
    const { run: listed, others } = selectRun(db, reference);
    const run = readRun(db, listed.run_id);
    if (flags.html !== undefined)
      await writePage(flags.html, renderRunPage(run, readPageAssets()), surroundings);
    else if (flags.json) await writeJson(run, stdout);
    else await write(stdout, renderRunText(run, terminalOf(stdout, env), Date.now()));
    if (others !== undefined) await write(stderr, `ptc: ${others}\n`);
    return EXIT.done;
  });
}

/** Call by call: all results of a run together may be more than a string can hold. */
async function writeJson(run: ArchivedRun, stdout: Writable): Promise<void> {
  const { record, recordDigest, importedAt, origin, code, data, consoleText, envelope, environment } = run;
  const { calls, ...facts } = record;
  const head = {
    record_digest: recordDigest,
    imported_at: importedAt,
    origin,
    record: facts,
    code,
    data,
    console: consoleText,
    envelope,
    environment,
  };
  await write(stdout, `${JSON.stringify(head).slice(0, -1)},"calls":[`);
  for (const [index, call] of calls.entries()) {
    const { arguments: argumentsDigest, outcome: outcomeDigest, ...callFacts } = call;
    const values = {
      ...callFacts,
      arguments_digest: argumentsDigest,
      outcome_digest: outcomeDigest,
      arguments: run.argumentsOf(call),
      outcome: run.outcomeOf(call),
    };
    await write(stdout, `${index === 0 ? "" : ","}${JSON.stringify(values)}`);
  }
  await write(stdout, "]}\n");
}
