import type { RunApprovals } from "../broker/approvals.ts";
import type { CallDispatcher } from "../broker/dispatcher.ts";
import { BrokerSession, type SessionLimits } from "../broker/session.ts";
import type { Metrics } from "../protocol/envelope.ts";
import { buildFailure, type FailureType } from "../protocol/failure.ts";
import { FrameError } from "../protocol/frames.ts";
import type { ProgramEnvironment, Trace } from "../protocol/messages.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { CallLog, type CallObserver } from "./call-log.ts";
import { type Ending, judge, type Verdict } from "./judge.ts";
import type { OutputLimits, RunnerOutput } from "./runner-output.ts";
import type { TimeLimit } from "./time-limit.ts";

export interface InsideLimits extends SessionLimits, OutputLimits {
  timeoutMs: number;
}

export interface InsideRun {
  bundle: string;
  data: unknown;
  environment: ProgramEnvironment;
  limits: InsideLimits;
  timeLimit: TimeLimit;
  dispatcher: CallDispatcher;
  approvals: RunApprovals;
  observers: readonly CallObserver[];
  output: RunnerOutput;
  clock: { nowMs(): number };
  signal: AbortSignal;
}

export interface Outcome {
  verdict: Verdict;
  metrics?: Metrics;
  trace?: Trace | undefined;
}

export function fail(type: FailureType, message: string): Outcome {
  return { verdict: { ok: false, error: buildFailure(type, message) } };
}

/** Sends a program into a sandbox, answers its calls, and judges how it ended. The sandbox is left for its owner to clear. */
export async function runInside(sandbox: Sandbox, run: InsideRun): Promise<Outcome> {
  const { limits, output, approvals, clock } = run;
  const log = new CallLog(run.observers, clock);
  const session = new BrokerSession(sandbox.channel, limits, (call, signal) =>
    log.watch(call, signal, () => run.dispatcher.dispatch(call, { approvals, signal })),
  );
  const greeted = await greeting(session, sandbox, run.signal);
  if (greeted !== undefined) return greeted;
  const sentAt = clock.nowMs();
  try {
    session.sendProgram({
      type: "program",
      bundle: run.bundle,
      data: run.data,
      environment: run.environment,
      max_output_bytes: limits.maxOutputBytes,
      max_stderr_bytes: limits.maxStderrBytes,
    });
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    return fail("BundleError", `the program and its data are too large to send: ${error.message}`);
  }
  void output.firstLine.then(() => session.finish());

  const ending = await firstEnding(sandbox, session, run);
  const durationMs = clock.nowMs() - sentAt;
  // What comes while the sandbox dies comes after the end.
  session.finish();
  const logged = log.end();
  if (ending.kind !== "exited" && ending.kind !== "done") await sandbox.kill();
  session.close();
  await logged;
  if (ending.kind === "exited") output.end();
  else output.flush();
  return {
    verdict: judge(ending, output.stdout, output.stderrTail, log.denied),
    metrics: {
      duration_ms: Math.round(durationMs),
      tool_calls: session.metrics.toolCalls,
      tool_result_bytes: session.metrics.toolResultBytes,
    },
    trace: session.trace,
  };
}

/** Waits until the runner has said hello. Returns what came instead. */
async function greeting(
  session: BrokerSession,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const stop = new AbortController();
  try {
    return await Promise.race([
      session.ready.then(() => undefined),
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
    return fail("SandboxUnavailable", error instanceof Error ? error.message : String(error));
  } finally {
    stop.abort();
  }
}

/** Waits for whatever ends the program first. */
async function firstEnding(sandbox: Sandbox, session: BrokerSession, run: InsideRun): Promise<Ending> {
  const { timeoutMs } = run.limits;
  const exited = sandbox.exited.then(({ code }): Ending => ({ kind: "exited", code }));
  const stop = new AbortController();
  run.timeLimit.start();
  const ending = await Promise.race([
    exited,
    session.ended.then(async (end): Promise<Ending> => {
      if (end.kind === "violation") return end;
      // The stream closes a moment before the container has ended.
      if (end.kind === "closed") return exited;
      return Promise.race([
        run.output.reached(end).then(() => ({ kind: "done", lineBytes: end.lineBytes }) as const),
        exited,
      ]);
    }),
    run.output.overflow.then((stream): Ending => ({ kind: "overflow", stream })),
    run.timeLimit.reached.then((): Ending => ({ kind: "timeout", timeoutMs })),
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
