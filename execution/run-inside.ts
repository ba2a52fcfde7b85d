import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/faults.ts";
import { oneLine } from "../base/visible-text.ts";
import type { RunApprovals } from "../broker/approvals/approvals.ts";
import type { RunEvents } from "../broker/decision-events.ts";
import type { CallDispatcher } from "../broker/dispatcher.ts";
import { type CallLimits, SandboxConnection } from "../broker/sandbox-connection.ts";
import type { ProgramSession } from "../languages/program.ts";
import { FrameError } from "../protocol/frames.ts";
import type { ProgramEnvironment } from "../protocol/messages.ts";
import type { ProgramFile } from "../protocol/program-files.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { CallLog, type CallObserver } from "./call-log.ts";
import { type Ending, judge, type Ways } from "./judge.ts";
import { fail, type Outcome } from "./outcome.ts";
import { maxKeptBytes, type OutputLimits, type RunnerOutput } from "./output/runner-output.ts";
import { adviseOnTimeout } from "./pending-calls.ts";
import { KeptCalls } from "./suspension/kept-calls.ts";
import type { Suspension } from "./suspension/suspension.ts";
import type { TimeLimit } from "./time-limit.ts";

export interface InsideLimits extends CallLimits, OutputLimits {
  timeoutMs: number;
}

export interface InsideRun {
  bundle: string;
  /** The runner that the bundle is for, as a sandbox's hello names it. */
  runner: string;
  ways: Ways;
  data: unknown;
  files?: readonly ProgramFile[] | undefined;
  environment: ProgramEnvironment;
  limits: InsideLimits;
  timeLimit: TimeLimit;
  dispatcher: CallDispatcher;
  approvals: RunApprovals;
  observers: readonly CallObserver[];
  /** Is told of decisions about the run's calls. */
  events?: RunEvents | undefined;
  output: RunnerOutput;
  clock: Pick<Clock, "monotonicMs">;
  /** Suspends the run where a person does not answer in time. Without it, the run is never suspended. */
  suspension?: Suspension | undefined;
  /** The session for whose further programs the runner stays. Without one, it ends with its program. */
  staysFor?: ProgramSession | undefined;
  signal: AbortSignal;
}

/** Sends a program into a sandbox, answers its calls, and judges how it ended. The sandbox is left for its owner to clear. */
export async function runInside(sandbox: Sandbox, run: InsideRun): Promise<Outcome> {
  const { limits, output, approvals, clock } = run;
  const log = new CallLog(run.observers, clock);
  const calls = run.suspension && new KeptCalls(() => log.elapsedMs);
  const connection = new SandboxConnection(sandbox.channel, limits, (call, signal, bytes) =>
    log.watch(call, signal, (seq) => {
      const answer = () => run.dispatcher.dispatch(call, { approvals, signal, seq, events: run.events });
      return calls === undefined ? answer() : calls.watch(call, bytes, answer);
    }),
  );
  if (calls !== undefined)
    run.suspension?.begin({ connection, approvals, calls, elapsedMs: () => log.elapsedMs });
  const greeted = await greeting(connection, sandbox, run);
  if (greeted !== undefined) return greeted;
  const sentAt = clock.monotonicMs();
  try {
    connection.sendProgram({
      type: "program",
      bundle: run.bundle,
      data: run.data,
      ...(run.files === undefined ? {} : { files: run.files.map(({ name, base64 }) => ({ name, base64 })) }),
      environment: run.environment,
      ...(run.staysFor === undefined ? {} : { session: true }),
      ...(sandbox.lingerMs === undefined ? {} : { linger_ms: sandbox.lingerMs }),
      max_output_bytes: maxKeptBytes(limits),
      max_stderr_bytes: limits.maxStderrBytes,
      ...(limits.maxResult === undefined ? {} : { max_result: limits.maxResult }),
    });
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    return fail("BundleError", `the program, its data and its files are too large to send: ${error.message}`);
  }
  void output.firstLine.then(() => connection.finish());

  const ending = await firstEnding(sandbox, connection, run);
  const durationMs = clock.monotonicMs() - sentAt;
  // Calls that arrive while the sandbox dies are none of the program's any more.
  connection.finish();
  const advice = ending.kind === "timeout" ? adviseOnTimeout(log.pending) : [];
  const logged = ending.kind === "suspended" ? log.abandon() : log.end();
  if (ending.kind !== "exited" && ending.kind !== "done") await sandbox.kill();
  connection.close();
  await logged;
  if (ending.kind === "exited") output.end();
  else output.flush();
  return {
    verdict: judge(ending, output.stdout, output.stderrTail, run.ways, {
      approvalDenied: log.denied,
      maxValues: limits.maxResult?.values,
    }),
    metrics: {
      duration_ms: Math.round(durationMs),
      tool_calls: connection.metrics.toolCalls,
      tool_result_bytes: connection.metrics.toolResultBytes,
    },
    runtime: (await connection.ready).runtime,
    trace: connection.trace,
    emitted: connection.emitted,
    warnings: log.warnings,
    advice,
    suspended: ending.kind === "suspended" ? ending.suspended : undefined,
  };
}

/** Waits for the runner's hello. Resolves with `undefined` for a valid one, else with the outcome of the run. */
async function greeting(
  connection: SandboxConnection,
  sandbox: Sandbox,
  { runner, signal }: Pick<InsideRun, "runner" | "signal">,
): Promise<Outcome | undefined> {
  const stop = new AbortController();
  try {
    return await Promise.race([
      connection.ready.then(({ language }) =>
        language === runner
          ? undefined
          : fail("SandboxUnavailable", `the sandbox runs '${oneLine(language)}' and not '${runner}'`),
      ),
      sandbox.exited.then(({ code }) =>
        fail("SandboxUnavailable", `the sandbox ended with exit code ${code} before it took a program`),
      ),
      new Promise<Outcome>((resolve) => {
        const cancel = () => resolve(fail("Cancelled", "the run was cancelled"));
        if (signal.aborted) cancel();
        signal.addEventListener("abort", cancel, { signal: stop.signal });
      }),
    ]);
  } catch (error) {
    return fail("SandboxUnavailable", messageOf(error));
  } finally {
    stop.abort();
  }
}

/** Waits for whatever ends the program first. */
async function firstEnding(sandbox: Sandbox, connection: SandboxConnection, run: InsideRun): Promise<Ending> {
  const { timeoutMs } = run.limits;
  const exited = sandbox.exited.then((exit): Ending => ({ kind: "exited", ...exit }));
  const stop = new AbortController();
  run.timeLimit.start(sandbox);
  const ending = await Promise.race([
    exited,
    connection.ended.then(async (end): Promise<Ending> => {
      if (end.kind === "violation" || end.kind === "failed") return end;
      // The stream closes shortly before the container ends, so its exit is awaited.
      if (end.kind === "closed") return exited;
      return Promise.race([
        run.output.reached(end).then(() => ({ kind: "done", lineBytes: end.lineBytes }) as const),
        exited,
      ]);
    }),
    run.output.overflow.then((stream): Ending => ({ kind: "overflow", stream })),
    run.timeLimit.reached.then((): Ending => ({ kind: "timeout", timeoutMs })),
    ...(run.suspension === undefined
      ? []
      : [run.suspension.suspended.then((suspended): Ending => ({ kind: "suspended", suspended }))]),
    new Promise<Ending>((resolve) => {
      const cancel = () => resolve({ kind: "cancelled" });
      if (run.signal.aborted) cancel();
      run.signal.addEventListener("abort", cancel, { signal: stop.signal });
    }),
  ]);
  stop.abort();
  run.timeLimit.clear();
  return ending;
}
