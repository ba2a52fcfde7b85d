import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import { contentOf, describeEmitted } from "../../execution/output/emitted-blocks.ts";
import type { TypecheckMode } from "../../languages/language.ts";
import { unnamedProgram } from "../../languages/languages.ts";
import type { UnresolvedProgram } from "../../languages/resolve-program.ts";
import type { Project } from "../../project/open-project.ts";
import { runProgram, sealLostRun, warningsBefore } from "../../project/run-program.ts";
import type { warmSandbox } from "../../project/sandboxes/sandboxes.ts";
import type { EmittedBlock } from "../../protocol/emitted.ts";
import { emittedLine } from "../../server/reports/run-overview.ts";
import { startHost } from "../background/start-host.ts";
import { type CommonFlags, EXIT, type ExitCode, type Surroundings, tell } from "../command.ts";
import { MadeCalls, reportEndedRun } from "../run-report/ended-run.ts";
import { buildApprover } from "../terminal/approver.ts";
import { CHECK_PATIENCE_MS, ProgramConsole } from "../terminal/program-console.ts";
import { writeResult } from "../terminal/result-file.ts";

const RECORD_PATIENCE_MS = 2_000;

export interface RunFlags extends CommonFlags {
  data?: string;
  file: string[];
  language?: string;
  timeout?: string;
  typecheck?: string;
  approve: string[];
  suspend?: boolean;
  ticket?: string;
  session?: string;
  /** False with `--no-host`. */
  host?: boolean;
  said?: string;
  out?: string;
  emitTo?: string;
  help?: boolean;
}

/** A program to run, with the values of the command line, read and checked. */
export interface RunRequest {
  program: UnresolvedProgram;
  /** Names a suspended run, which is resumed instead. */
  ticket?: string | undefined;
  /** Closed when the program has run. */
  project: Project;
  timeoutMs: number | undefined;
  typecheck: TypecheckMode | undefined;
  /** What the user said. */
  said: readonly string[];
  /** Cancels the run. */
  cancel: AbortController;
  /** The program's sandbox, which is starting; `undefined` if a background host provides sandboxes. */
  warmed: Awaited<ReturnType<typeof warmSandbox>> | undefined;
}

/** Runs a program with a host of its own, or with the background host that this process is. Prints the outcome. */
export async function run(
  request: RunRequest,
  flags: RunFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  try {
    return await runHere(request, flags, surroundings);
  } finally {
    await request.project.close();
  }
}

async function runHere(
  { program, ticket, project, timeoutMs, typecheck, said, cancel, warmed }: RunRequest,
  flags: RunFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { shared, withoutHost } = surroundings;
  const { configuration } = project;
  const calls = new MadeCalls();
  if (withoutHost?.lostRun !== undefined) {
    const settled = { ...unnamedProgram(configuration.languages), ...program };
    const envelope = sealLostRun(withoutHost.lostRun, settled, configuration.execution.maxOutputBytes);
    const lost = { envelope, resultFrom: undefined, wholeResultJson: undefined, archivedAs: undefined };
    await reportEndedRun({ ...lost, program: settled, calls }, flags, surroundings);
    return EXIT.failed;
  }
  const console = new ProgramConsole(surroundings, configuration.execution.maxStderrBytes);
  const onWarning = (message: string) => console.tell(`ptc: warning: ${oneLine(message)}`);
  for (const warning of warningsBefore(project)) onWarning(warning);
  shared?.onWarning(onWarning);
  project.tellWarnings(onWarning);
  const suspends = flags.suspend === true || ticket !== undefined;
  const executed = await runProgram(
    project,
    {
      program,
      ticket,
      timeoutMs,
      typecheck,
      said,
      suspends,
      session: flags.session,
      toFile: flags.out !== undefined,
      approver: buildApprover(flags.approve, {
        console,
        surroundings,
        onInterrupt: () => cancel.abort(),
        suspends,
        require: configuration.approvals.require,
      }),
      checkPatienceMs: CHECK_PATIENCE_MS,
      onConsole: ({ text }) => console.print(text),
      onPhase: console.onPhase,
      onCall: (call) => calls.note(call),
      beforeCalls: shared?.onCalling,
      signal: cancel.signal,
    },
    shared ?? { warmed },
  );
  const { envelope, typeWarning, unchecked, warnings, advice, recorded, cleared, emitted } = executed;
  console.end();
  await reportEmitted(
    emitted,
    flags.emitTo === undefined ? undefined : resolve(surroundings.cwd(), flags.emitTo),
    (line) => console.tell(line),
  );
  const unwritten =
    flags.out === undefined ? undefined : await writeResult(executed, resolve(surroundings.cwd(), flags.out));
  if (typeWarning !== undefined) {
    console.tell("ptc: type warnings:");
    console.print(`${typeWarning}\n`);
  }
  if (unchecked !== undefined)
    console.tell(`ptc: the program's types were not checked: ${oneLine(unchecked)}`);
  for (const warning of warnings) onWarning(warning);
  // A caller that has the envelope may end ptc, but expects the run in the archive. A slow archive delays the envelope only briefly.
  const problem = await Promise.race([recorded, delay(RECORD_PATIENCE_MS, undefined, { ref: false })]);
  const isReport = await reportEndedRun(
    { ...executed, calls, archivedAs: problem === undefined ? envelope.run_id : undefined },
    flags,
    surroundings,
  );
  for (const line of advice) console.tell(`ptc: ${oneLine(line)}`);
  if (unwritten !== undefined) console.tell(`ptc: ${unwritten}`);
  const unrecorded = await recorded;
  if (unrecorded !== undefined) onWarning(unrecorded);
  if (shared === undefined) await Promise.all([cleared, project.close()]);
  const isUnavailable = !envelope.result.ok && envelope.result.error.type === "SandboxUnavailable";
  if (withoutHost?.mayStart === true && !configuration.host.off && !isUnavailable)
    startHost(surroundings, flags.config);
  if (envelope.result.ok) return unwritten === undefined ? EXIT.done : EXIT.failed;
  if (!isUnavailable) return EXIT.failed;
  if (!isReport) await tell(surroundings.stderr, oneLine(envelope.result.error.message));
  return EXIT.noSandbox;
}

const MAX_LINE_CHARS = 300;
const MAX_NAME_CHARS = 80;

/** How files of common types end. */
const ENDINGS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/svg+xml": "svg",
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "application/json": "json",
  "application/pdf": "pdf",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
  text: "txt",
};

/**
 * Reports the blocks that a program emitted, one line each, and writes them to the folder, if one is given. Existing files stay as
 * they are. Also reports blocks that cannot be written.
 */
export async function reportEmitted(
  blocks: readonly EmittedBlock[],
  folder: string | undefined,
  tell: (line: string) => void,
): Promise<void> {
  for (const [index, block] of blocks.entries()) {
    const what = oneLine(emittedLine(block), MAX_LINE_CHARS);
    const content = contentOf(block);
    if (folder === undefined || content === undefined) {
      tell(`ptc: emitted: ${what}`);
      continue;
    }
    try {
      await mkdir(folder, { recursive: true });
      tell(`ptc: emitted: ${what}, to ${await writeNew(folder, fileName(block, index), content)}`);
    } catch (error) {
      tell(
        `ptc: emitted: ${what}; it cannot be written to ${folder}: ${oneLine(messageOf(error), MAX_LINE_CHARS)}`,
      );
    }
  }
}

async function writeNew(folder: string, name: string, content: Buffer): Promise<string> {
  for (let copy = 1; ; copy++) {
    const path = join(folder, copy === 1 ? name : name.replace(/(?=\.[^.]*$|$)/, `-${copy}`));
    try {
      await writeFile(path, content, { flag: "wx" });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || copy >= 1_000) throw error;
    }
  }
}

/** A plain name in the folder, whatever the program calls it. */
function fileName(block: EmittedBlock, index: number): string {
  const { name, what } = describeEmitted(block);
  const plain =
    name
      ?.replaceAll(/[^A-Za-z0-9._-]+/g, "_")
      .replace(/^[._-]+/, "")
      .slice(-MAX_NAME_CHARS) ?? "";
  if (/[A-Za-z0-9]/.test(plain)) return plain;
  const ending = ENDINGS[what.split(";", 1)[0] ?? ""];
  return `emitted-${index + 1}.${ending ?? "bin"}`;
}
