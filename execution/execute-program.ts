import { randomBytes, randomUUID } from "node:crypto";
import { type Approver, RunApprovals } from "../broker/approvals.ts";
import type { Dispatcher } from "../broker/dispatcher.ts";
import { BrokerSession, type SessionLimits } from "../broker/session.ts";
import type { ConsoleEntry } from "../protocol/console-stream.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { buildFailure } from "../protocol/failure.ts";
import { FrameError } from "../protocol/frames.ts";
import { MAX_CLAIM_FAILURE_BYTES } from "../protocol/limits.ts";
import type { Sandbox, SandboxSource } from "../sandbox/sandbox.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";
import { bundleProgram, type ModuleSource } from "./bundle.ts";
import { type Ending, judge, type Verdict } from "./judge.ts";
import { inputDigest, type Program } from "./program.ts";
import { type OutputLimits, RunnerOutput } from "./runner-output.ts";
import { sealEnvelope } from "./seal.ts";

export interface ExecutionLimits extends SessionLimits, OutputLimits {
  /** Wall clock of the program, from the moment it is sent to its sandbox. */
  timeoutMs: number;
}

export interface ExecutionParts {
  sandboxes: SandboxSource;
  modules: ModuleSource;
  dispatcher: Dispatcher;
  approver: Approver;
  clock: { nowMs(): number };
  toolVersion: string;
}

export interface RunOptions {
  limits: ExecutionLimits;
  /** Receives console text as it is printed, bounded by the limits. */
  onConsole: (entry: ConsoleEntry) => void;
  /** Cancels the run: the sandbox is killed and calls in flight are aborted. */
  signal: AbortSignal;
}

export interface ExecutedProgram {
  envelope: Envelope;
  /** What `console.log` printed, cut at its cap. */
  consoleText: string;
  /** Resolves when nothing of the run's sandbox is left. Off the path of the answer; never rejects. */
  cleared: Promise<void>;
}

/**
 * Runs one program: bundles it while a sandbox starts, sends it in, answers its calls, and seals what became of it.
 * Every way to fail is in the envelope; nothing is thrown for what a program, a server or an engine does.
 */
export async function executeProgram(
  program: Program,
  parts: ExecutionParts,
  options: RunOptions,
): Promise<ExecutedProgram> {
  const startedAt = parts.clock.nowMs();
  const runId = randomUUID();
  const approvals = new RunApprovals(runId, parts.approver);
  const output = new RunnerOutput(
    options.limits,
    options.limits.maxOutputBytes + MAX_CLAIM_FAILURE_BYTES,
    options.onConsole,
  );
  const bundling = bundleProgram(program, parts.modules);
  bundling.catch(() => {});
  const acquired = await acquire(parts.sandboxes, output);

  let outcome: Outcome = {
    verdict: { ok: false, error: buildFailure("InternalError", "the run did not start") },
  };
  const sandbox = acquired.ok ? acquired.sandbox : undefined;
  try {
    const bundled = await bundling;
    if (!bundled.ok) outcome = fail("BundleError", bundled.message);
    else if (!acquired.ok) outcome = fail("SandboxUnavailable", acquired.message);
    else {
      outcome = await runInside(acquired.sandbox, bundled.bundle, program, {
        parts,
        options,
        output,
        approvals,
      });
    }
  } catch (error) {
    outcome = fail("InternalError", error instanceof Error ? error.message : String(error));
  }

  const envelope = sealEnvelope(
    {
      runId,
      traceId: randomBytes(16).toString("hex"),
      toolVersion: parts.toolVersion,
      inputDigest: inputDigest(program),
      sandboxImage: sandbox?.image ?? null,
      durationMs: Math.round(parts.clock.nowMs() - startedAt),
      approvalState: approvals.state,
      metrics: outcome.metrics ?? { duration_ms: 0, tool_calls: 0, tool_result_bytes: 0 },
    },
    outcome.verdict,
    options.limits.maxOutputBytes,
  );
  return { envelope, consoleText: output.consoleText, cleared: sandbox?.dispose() ?? Promise.resolve() };
}

interface Outcome {
  verdict: Verdict;
  metrics?: Envelope["result"]["metrics"];
}

function fail(type: Parameters<typeof buildFailure>[0], message: string): Outcome {
  return { verdict: { ok: false, error: buildFailure(type, message) } };
}

async function acquire(
  source: SandboxSource,
  output: RunnerOutput,
): Promise<{ ok: true; sandbox: Sandbox } | { ok: false; message: string }> {
  try {
    return { ok: true, sandbox: await source.acquire(output) };
  } catch (error) {
    if (error instanceof SandboxError) return { ok: false, message: error.message };
    throw error;
  }
}

async function runInside(
  sandbox: Sandbox,
  bundle: string,
  program: Program,
  run: { parts: ExecutionParts; options: RunOptions; output: RunnerOutput; approvals: RunApprovals },
): Promise<Outcome> {
  const { parts, options, output, approvals } = run;
  const { limits } = options;
  const session = new BrokerSession(sandbox.channel, limits, (call, signal) =>
    parts.dispatcher.dispatch(call, { approvals, signal }),
  );
  try {
    await session.ready;
  } catch (error) {
    return fail("SandboxUnavailable", error instanceof Error ? error.message : String(error));
  }
  const sentAt = parts.clock.nowMs();
  try {
    session.sendProgram({
      type: "program",
      bundle,
      data: program.data,
      max_output_bytes: limits.maxOutputBytes,
      max_stderr_bytes: limits.maxStderrBytes,
    });
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    return fail("BundleError", `the program and its data are too large to send: ${error.message}`);
  }
  void output.firstLine.then(() => session.finish());

  const ending = await firstEnding(sandbox, session, output, options);
  const durationMs = parts.clock.nowMs() - sentAt;
  session.close();
  if (ending.kind === "exited") output.end();
  return {
    verdict: judge(ending, output.stdout, output.stderrTail, approvals.state === "DENIED"),
    metrics: {
      duration_ms: Math.round(durationMs),
      tool_calls: session.metrics.toolCalls,
      tool_result_bytes: session.metrics.toolResultBytes,
    },
  };
}

/** Waits for whatever ends the program first, and kills its sandbox unless that is already over. */
async function firstEnding(
  sandbox: Sandbox,
  session: BrokerSession,
  output: RunnerOutput,
  options: RunOptions,
): Promise<Ending> {
  const { timeoutMs } = options.limits;
  const exited = sandbox.exited.then(({ code }): Ending => ({ kind: "exited", code }));
  const stop = new AbortController();
  const ending = await Promise.race([
    exited,
    session.ended.then(async (end): Promise<Ending> => {
      if (end.kind === "violation") return end;
      // The stream closes a moment before the container has ended.
      if (end.kind === "closed") return exited;
      return Promise.race([
        output.reached(end.lineBytes).then(() => ({ kind: "done", lineBytes: end.lineBytes }) as const),
        exited,
      ]);
    }),
    output.overflow.then((stream): Ending => ({ kind: "overflow", stream })),
    new Promise<Ending>((resolve) => {
      const timer = setTimeout(() => resolve({ kind: "timeout", timeoutMs }), timeoutMs);
      stop.signal.addEventListener("abort", () => clearTimeout(timer));
    }),
    new Promise<Ending>((resolve) => {
      const cancel = () => resolve({ kind: "cancelled" });
      if (options.signal.aborted) cancel();
      options.signal.addEventListener("abort", cancel, { signal: stop.signal });
    }),
  ]);
  stop.abort();
  if (ending.kind !== "exited" && ending.kind !== "done") await sandbox.kill();
  return ending;
}
