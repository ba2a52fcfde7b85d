import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../base/faults.ts";
import { oneLine } from "../base/visible-text.ts";
import type { CallInterceptor } from "../broker/call-interceptors.ts";
import type { CallDispatcher } from "../broker/dispatcher.ts";
import { SandboxConnection } from "../broker/sandbox-connection.ts";
import type { Prepared } from "../languages/prepare-program.ts";
import type { Program, ProgramSession } from "../languages/program.ts";
import { FrameError } from "../protocol/frames.ts";
import type { ProgramEnvironment } from "../protocol/messages.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { CallLog } from "./call-log.ts";
import { type Ending, judge, parseClaimLine } from "./judge.ts";
import { fail, type Outcome } from "./outcome.ts";
import { maxKeptBytes, type RunnerOutput } from "./output/runner-output.ts";
import { adviseOnTimeout } from "./pending-calls.ts";
import { isProgramOfCall } from "./program-of-call.ts";
import type { OpenRun, RunScope } from "./run.ts";
import type { ResumedCalls } from "./suspension/resumed-calls.ts";
import type { TimeLimit } from "./time-limit.ts";

/** How long the channel of a sandbox that has ended may take to be read to its end. */
const MAX_UNREAD_MS = 2_000;

/** A prepared program, and everything that it needs to run. */
export interface InsideRun {
  scope: Pick<RunScope, "dispatcher" | "surroundings" | "limits" | "clock"> & {
    program: Pick<Program, "data" | "files"> & Partial<Pick<Program, "code" | "fileName">>;
    /** The session of the program. The runner stays for further programs; without a session it ends with the program. */
    session?: ProgramSession | undefined;
  };
  run: OpenRun;
  /** `runner` names the runner that the bundle is for, as in a sandbox's hello. */
  prepared: Pick<Extract<Prepared, { ok: true }>, "bundle" | "runner" | "idioms">;
  environment: ProgramEnvironment;
  timeLimit: TimeLimit;
  output: RunnerOutput;
  /** The calls that a resumed program makes again. */
  calls?: ResumedCalls | undefined;
  /** Hold the answers to calls, when values are followed. */
  experiments?: { readonly aroundCalls: CallInterceptor } | undefined;
  /** Where the run begins again when its own sandbox goes on in rehearsal. Without it, rehearsals are in other sandboxes. */
  elsewhere?: Elsewhere | undefined;
}

/** The other sandbox of a run whose own one goes on in rehearsal. */
export interface Elsewhere {
  /** From now on, nothing that the own sandbox writes is shown or kept. */
  leave(): void;
  /** A sandbox, and its output, of which only what is new is shown; or why there is none. */
  acquire(): Promise<{ ok: true; sandbox: Sandbox; output: RunnerOutput } | { ok: false; message: string }>;
}

/** What ends a program besides itself and its sandbox. */
interface Endings extends Pick<OpenRun, "signal" | "suspension"> {
  readonly timeLimit?: TimeLimit | undefined;
  /** Settles when nobody waits for the end any more. */
  readonly left?: Promise<void> | undefined;
}

/** A program in a sandbox, whose calls are answered by a dispatcher. */
export class ProgramInside {
  readonly connection: SandboxConnection;
  readonly #sandbox: Sandbox;
  readonly #inside: InsideRun;
  #sentAt = 0;

  constructor(sandbox: Sandbox, inside: InsideRun, dispatcher: CallDispatcher) {
    const { approvals, recording: events } = inside.run;
    this.#sandbox = sandbox;
    this.#inside = inside;
    this.connection = new SandboxConnection(sandbox.channel, inside.scope.limits, (call, signal, bytes) =>
      dispatcher.dispatch(call, { approvals, signal, bytes, events }),
    );
  }

  /** Sends the program. Resolves with the outcome if that is not possible. */
  async send(): Promise<Outcome | undefined> {
    const { scope, run, prepared, output, environment } = this.#inside;
    const { program, limits, session, clock } = scope;
    const [sandbox, connection] = [this.#sandbox, this.connection];
    const greeted = await greeting(connection, sandbox, prepared.runner, run.signal);
    if (greeted !== undefined) return greeted;
    this.#sentAt = clock.monotonicMs();
    try {
      connection.sendProgram({
        type: "program",
        bundle: prepared.bundle,
        data: program.data,
        ...(isProgramOfCall(program) ? { exact: true } : {}),
        ...(program.files === undefined
          ? {}
          : { files: program.files.map(({ name, base64 }) => ({ name, base64 })) }),
        environment,
        ...(session === undefined ? {} : { session: true }),
        ...(sandbox.lingerMs === undefined ? {} : { linger_ms: sandbox.lingerMs }),
        max_output_bytes: maxKeptBytes(limits),
        max_stderr_bytes: limits.maxStderrBytes,
        ...(limits.maxResult === undefined ? {} : { max_result: limits.maxResult }),
      });
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      return fail(
        "BundleError",
        `the program, its data and its files are too large to send: ${error.message}`,
      );
    }
    void output.firstLine.then(() => connection.finish());
    return undefined;
  }

  /** Waits for the first thing that ends the program; `undefined` if it goes on without its run. */
  async ending({ signal, suspension, timeLimit, left }: Endings): Promise<Ending | undefined> {
    const { scope, output } = this.#inside;
    const { timeoutMs } = scope.limits;
    const exited = this.#sandbox.exited.then(
      (exit): Ending => ({ kind: "exited", ...exit }),
      // The program had begun, and may have made calls, so the failure does not say that it can be tried again.
      (error): Ending => ({ kind: "failed", message: messageOf(error) }),
    );
    const stop = new AbortController();
    const ending = await Promise.race([
      exited,
      this.connection.ended.then(async (end): Promise<Ending> => {
        if (end.kind === "violation" || end.kind === "failed") return end;
        // The stream closes shortly before the container ends, so its exit is awaited.
        if (end.kind === "closed") return exited;
        return Promise.race([
          output.reached(end).then(() => ({ kind: "done", lineBytes: end.lineBytes }) as const),
          exited,
        ]);
      }),
      output.overflow.then((stream): Ending => ({ kind: "overflow", stream })),
      ...(timeLimit === undefined
        ? []
        : [timeLimit.reached.then((): Ending => ({ kind: "timeout", timeoutMs }))]),
      ...(suspension === undefined
        ? []
        : [suspension.suspended.then((suspended): Ending => ({ kind: "suspended", suspended }))]),
      ...(left === undefined ? [] : [left.then(() => undefined)]),
      new Promise<Ending>((resolve) => {
        const cancel = () => resolve({ kind: "cancelled" });
        if (signal.aborted) cancel();
        signal.addEventListener("abort", cancel, { signal: stop.signal });
      }),
    ]);
    stop.abort();
    if (ending !== undefined) timeLimit?.clear();
    return ending;
  }

  /** Ends the program, and judges how it ended. @param log the log of its calls. */
  async end(ending: Ending, log: CallLog): Promise<Outcome> {
    const { scope, prepared, output } = this.#inside;
    const { limits, clock } = scope;
    const [sandbox, connection] = [this.#sandbox, this.connection];
    const durationMs = clock.monotonicMs() - this.#sentAt;
    // Calls that arrive while the sandbox dies do not count for the program.
    connection.finish();
    const advice = ending.kind === "timeout" ? adviseOnTimeout(log.pending) : [];
    const logged = ending.kind === "suspended" ? log.abandon() : log.end();
    if (ending.kind === "exited") await readToTheEnd(connection);
    // What the program wrote before the call that it waits for may still be on its way.
    if (ending.kind === "suspended") await Promise.race([sandbox.clear?.(), sandbox.exited]).catch(() => {});
    if (ending.kind === "failed") await sandbox.kill().catch(() => {});
    else if (ending.kind !== "exited" && ending.kind !== "done") await sandbox.kill();
    connection.close();
    await logged;
    if (ending.kind === "exited") output.end();
    else output.flush();
    const maxValues = limits.maxResult?.values;
    const line = await parseClaimLine(output.stdout, maxValues);
    return {
      verdict: judge(ending, output.stdout, output.stderrTail, prepared.idioms, {
        approvalDenied: log.denied,
        maxValues,
        line,
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
      answers: log.answers,
      advice,
      suspended: ending.kind === "suspended" ? ending.suspended : undefined,
    };
  }
}

/** Waits for the runner's last messages, such as its trace. An engine may report the end before the channel is read. */
async function readToTheEnd(connection: SandboxConnection): Promise<void> {
  const stop = new AbortController();
  const patience = delay(MAX_UNREAD_MS, undefined, { signal: stop.signal }).catch(() => {});
  await Promise.race([connection.ended, patience]);
  stop.abort();
}

/** Waits for the runner's hello. Resolves with `undefined` for a valid hello, otherwise with the outcome of the run. */
async function greeting(
  connection: SandboxConnection,
  sandbox: Sandbox,
  runner: string,
  signal: AbortSignal,
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
