import type { Writable } from "node:stream";
import type { ArchiveStore } from "../../../archive/archive-store.ts";
import type { ArchivedRun } from "../../../archive/reading/archived-run.ts";
import { jsonLine } from "../../../base/json/json-line.ts";
import { visibleLines } from "../../../base/text/visible-text.ts";
import { joinOutput } from "../../../execution/output/whole-output.ts";
import { archivedOutput } from "../../../host/run-report/archived-output.ts";
import { readPageAssets } from "../../../server/pages/page-assets.ts";
import { renderRunPage } from "../../../server/pages/run-page.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { renderRunText } from "../../run-report/run-text.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { terminalOf } from "../../terminal/terminal.ts";
import { selectRun } from "./select-run.ts";
import { withArchive } from "./with-archive.ts";
import { writePage } from "./write-page.ts";

interface ShowFlags {
  config?: string;
  html?: string;
  json?: boolean;
  output?: boolean;
}

/** `ptc runs show REF` */
export const defineShow: DefineCommand = (runs, surroundings, finish) => {
  runs
    .command("show")
    .description("show one run: its program, calls, console and envelope")
    .argument("<ref>", "input digest, run id, or at least four characters that one begins with")
    .option("--config <file>", "configuration file")
    .option("--html <file>", "write it as one page that needs no network, instead of printing it")
    .option("--output", "print all that the program gave out: console, result and stderr, however long")
    .option("--json", "print everything as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs show 3f9a12c0 --html run.html\n")
    .action(async (ref: string, flags: ShowFlags) => {
      finish(await show(ref, flags, surroundings));
    });
};

async function show(reference: string, flags: ShowFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { html, json, output } = flags;
  if ([html !== undefined, json, output].filter(Boolean).length > 1)
    throw new UsageError("--html, --json and --output: give one of them");
  return withArchive(flags, surroundings, async (archive) => {
    if (archive === undefined) return EXIT.usage;
    await showRun(archive, reference, flags, surroundings);
    return EXIT.done;
  });
}

/** Prints the run that a reference means, in the requested form. @throws UsageError, ArchiveError */
export async function showRun(
  archive: Pick<ArchiveStore, "find" | "read">,
  reference: string,
  flags: ShowFlags,
  surroundings: Surroundings,
): Promise<void> {
  const { stdout, stderr, env } = surroundings;
  const { run: listed, others } = await selectRun(archive, reference);
  const run = await archive.read(listed.run_id);
  if (flags.html !== undefined)
    await writePage(flags.html, await renderRunPage(run, readPageAssets()), surroundings);
  else if (flags.json) await writeJson(run, stdout);
  else if (flags.output) await write(stdout, renderOutput(run, stdout.isTTY === true));
  else await write(stdout, await renderRunText(run, terminalOf(stdout, env), Date.now()));
  if (others !== undefined) await write(stderr, `ptc: ${others}\n`);
}

/** The whole output. In a pipe it is as it was printed, on a terminal nothing of it moves the cursor. */
function renderOutput(run: ArchivedRun, isTerminal: boolean): string {
  const { text } = joinOutput(archivedOutput(run));
  if (text === "") return "";
  return `${isTerminal ? visibleLines(text) : text}\n`;
}

/** Writes the JSON call by call, because all results together may be longer than a string can be. */
async function writeJson(run: ArchivedRun, stdout: Writable): Promise<void> {
  const { record, recordDigest, importedAt, origin, code, data, consoleText, stderrText, envelope } = run;
  const { calls, ...facts } = record;
  const head = {
    record_digest: recordDigest,
    imported_at: importedAt,
    origin,
    record: facts,
    code,
    data,
    console: run.whole.consoleText ?? consoleText,
    ...(run.whole.resultJson === undefined ? {} : { whole_result: JSON.parse(run.whole.resultJson) }),
    stderr: stderrText,
    ...(run.emitted.length === 0 ? {} : { emitted: run.emitted }),
    envelope,
    environment: run.environment,
  };
  await write(stdout, `${jsonLine(head).slice(0, -1)},"calls":[`);
  for (const [index, call] of calls.entries()) {
    const { arguments: argumentsDigest, outcome: outcomeDigest, ...callFacts } = call;
    const values = {
      ...callFacts,
      arguments_digest: argumentsDigest,
      outcome_digest: outcomeDigest,
      arguments: await run.argumentsOf(call),
      outcome: await run.outcomeOf(call),
    };
    await write(stdout, `${index === 0 ? "" : ","}${jsonLine(values)}`);
  }
  await write(stdout, "]}\n");
}
