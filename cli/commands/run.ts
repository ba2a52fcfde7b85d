import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { oneLine } from "../../base/text/one-line.ts";
import type { ObservedCall } from "../../execution/call-log.ts";
import type { ExecutedProgram } from "../../execution/output/executed-program.ts";
import type { TypecheckMode } from "../../execution/prepare/language.ts";
import type { HandedIn } from "../../execution/prepare/settle-program.ts";
import type { Configuration } from "../../host/configuration/configuration.ts";
import { describeOffServers } from "../../host/configuration/servers/off-servers.ts";
import { refuseUnmatchedPatterns } from "../../host/configured-policy.ts";
import type { HostOptions } from "../../host/host.ts";
import { openHost } from "../../host/open-host.ts";
import { version } from "../../host/package.ts";
import { unnamedProgram } from "../../host/program-files.ts";
import { openTelemetry } from "../../telemetry/open-telemetry.ts";
import { traceContextOf } from "../../telemetry/trace-context.ts";
import { sealLostRun } from "../background/lost-run.ts";
import { startHost } from "../background/start-host.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { localContext } from "../local-user.ts";
import { MadeCalls } from "../run-report/made-calls.ts";
import { type SharedHost, type Surroundings, write } from "../surroundings.ts";
import { buildApprover } from "../terminal/approver.ts";
import { reportEmitted } from "../terminal/emitted-files.ts";
import { reportEndedRun } from "../terminal/ended-run.ts";
import { ProgramConsole } from "../terminal/program-console.ts";
import { writeResult } from "../terminal/result-file.ts";
import { goOnWith } from "./approvals/go-on.ts";

const RECORD_PATIENCE_MS = 2_000;
/** How long the end of the command waits for a collector. */
const TELEMETRY_PATIENCE_MS = 1_000;

export interface RunFlags {
  config?: string;
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
  out?: string;
  emitTo?: string;
  json?: boolean;
  help?: boolean;
}

/** What is to be run, read and checked. */
export interface RunRequest {
  program: HandedIn;
  /** Names a suspended run, which is then gone on with instead. */
  ticket?: string | undefined;
  configuration: Configuration;
  timeoutMs: number | undefined;
  typecheck: TypecheckMode | undefined;
  /** Cancels the run. */
  cancel: AbortController;
  /** The program's sandbox, which is starting; `undefined` where a background host has sandboxes. */
  begun: HostOptions["begun"];
}

/** How long a program waits for its type check. A person would rather wait than have it run unchecked. */
const CHECK_PATIENCE_MS = 15_000;

/** Runs a program, in this process or with the background host that this process is, and prints what becomes of it. */
export async function run(
  { program, ticket, configuration, timeoutMs, typecheck, cancel, begun }: RunRequest,
  flags: RunFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env, shared, alone } = surroundings;
  const calls = new MadeCalls();
  if (alone?.lostRun !== undefined) {
    const settled = { ...unnamedProgram(configuration.languages), ...program };
    const envelope = sealLostRun(alone.lostRun, settled, configuration.execution.maxOutputBytes);
    const lost = { envelope, resultFrom: undefined, wholeResultJson: undefined, archivedAs: undefined };
    await reportEndedRun({ ...lost, program: settled, calls }, flags, surroundings);
    return EXIT.failed;
  }
  const console = new ProgramConsole(surroundings, configuration.execution.maxStderrBytes);
  const onWarning = (message: string) => console.tell(`ptc: warning: ${oneLine(message)}`);
  for (const warning of [...configuration.held, ...describeOffServers(configuration)]) onWarning(warning);
  shared?.onWarning(onWarning);
  const telemetry = shared === undefined ? await openTelemetry(env, { version, onWarning }) : undefined;
  const own =
    shared === undefined ? openHost({ configuration, env, onWarning, begun, telemetry }) : undefined;
  const host = own ?? (shared as SharedHost).host;
  try {
    refuseUnmatchedPatterns(configuration, (await host.currentTools()).all);
  } catch (error) {
    await own?.close();
    throw error;
  }

  const options = {
    context: localContext("run", env),
    approver: buildApprover(flags.approve, {
      console,
      surroundings,
      onInterrupt: () => cancel.abort(),
      suspends: flags.suspend === true || ticket !== undefined,
      require: configuration.approvals.require,
    }),
    suspends: flags.suspend === true || ticket !== undefined,
    trace: traceContextOf(env),
    onConsole: ({ text }: { text: string }) => console.print(text),
    onCall: (call: ObservedCall) => calls.note(call),
    beforeCalls: shared?.onCalling,
    signal: cancel.signal,
  };
  let executed: ExecutedProgram;
  try {
    executed =
      ticket === undefined
        ? await host.run(program, {
            ...options,
            ...{ timeoutMs, typecheck },
            session: flags.session,
            toFile: flags.out !== undefined,
            checkPatienceMs: CHECK_PATIENCE_MS,
          })
        : await goOnWith(ticket, host, options);
  } catch (error) {
    await own?.close();
    throw error;
  }
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
  // A caller that has the envelope may end ptc, and expects the run in the archive. A slow archive delays it only so long.
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
  await Promise.all(own === undefined ? [] : [cleared, own.close(), telemetry?.close(TELEMETRY_PATIENCE_MS)]);
  const isUnavailable = !envelope.result.ok && envelope.result.error.type === "SandboxUnavailable";
  if (alone?.mayStart === true && !configuration.host.isOff && !isUnavailable)
    startHost(surroundings, flags.config);
  if (envelope.result.ok) return unwritten === undefined ? EXIT.done : EXIT.failed;
  if (!isUnavailable) return EXIT.failed;
  if (!isReport) await write(surroundings.stderr, `ptc: ${oneLine(envelope.result.error.message)}\n`);
  return EXIT.noSandbox;
}
