import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { oneLine } from "../../base/visible-text.ts";
import { startHost } from "../../project/background/start-host.ts";
import type { Project } from "../../project/open-project.ts";
import { reportEmitted, writeResult } from "../../project/result-files.ts";
import { runProgram, sealLostRun, type UsersProgram, warningsBefore } from "../../project/run-program.ts";
import { MadeCalls, reportEndedRun } from "../../project/run-report/ended-run.ts";
import type { warmSandbox } from "../../project/sandboxes/sandboxes.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { buildApprover } from "../../project/terminal/approver.ts";
import { CHECK_PATIENCE_MS, ProgramConsole } from "../../project/terminal/program-console.ts";
import { type CommonFlags, EXIT, type ExitCode, tell } from "../command.ts";

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
export interface ProgramToRun {
  program: UsersProgram["program"];
  /** Names a suspended run, which is resumed instead. */
  ticket?: string | undefined;
  /** Closed when the program has run. */
  project: Project;
  timeoutMs: number | undefined;
  typecheck: UsersProgram["typecheck"];
  /** What the user said. */
  said: readonly string[];
  /** Cancels the run. */
  cancel: AbortController;
  /** The program's sandbox, which is starting; `undefined` if a background host provides sandboxes. */
  warmed: Awaited<ReturnType<typeof warmSandbox>> | undefined;
}

/** Runs a program with a host of its own, or with the background host that this process is. Prints the outcome. */
export async function run(
  request: ProgramToRun,
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
  { program, ticket, project, timeoutMs, typecheck, said, cancel, warmed }: ProgramToRun,
  flags: RunFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { shared, withoutHost } = surroundings;
  const { configuration } = project;
  const calls = new MadeCalls();
  if (withoutHost?.lostRun !== undefined) {
    const lost = sealLostRun(withoutHost.lostRun, program, configuration);
    await reportEndedRun({ ...lost, archivedAs: undefined, calls }, flags, surroundings);
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
