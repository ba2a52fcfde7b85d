import { untilAborted } from "../base/waiting.ts";
import { RunApprovals } from "../broker/approvals/approvals.ts";
import { interceptCalls } from "../broker/call-interceptors.ts";
import type { CallDispatcher } from "../broker/dispatcher.ts";
import type { SandboxConnection } from "../broker/sandbox-connection.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { CallLog } from "./call-log.ts";
import { callInterceptors } from "./interceptors.ts";
import { LastingCalls } from "./lasting-calls.ts";
import { fail, type Outcome } from "./outcome.ts";
import type { OwnPlace, Rehearsing } from "./planning.ts";
import { type Elsewhere, type InsideRun, ProgramInside } from "./program-inside.ts";
import { divergenceOf } from "./suspension/continuation.ts";
import type { Moment, Stoppable } from "./suspension/suspension.ts";

/** A program that has run for longer is rehearsed in other sandboxes: it would take as long to come to where it was. */
const MAX_SPENT_MS = 2_000;

interface OwnSandboxParts {
  readonly sandbox: Sandbox;
  readonly inside: InsideRun;
  readonly elsewhere: Elsewhere;
  /** Answers the calls of the run. */
  readonly calls: CallDispatcher;
  /** Notes the calls of the run. */
  readonly log: CallLog;
  readonly stoppable: (program: ProgramInside) => Stoppable | undefined;
}

/**
 * The sandbox of a run whose program may go on there in rehearsal, from a call that waits for an approval. Then the run begins again in
 * another sandbox, as a resumed run does: up to that call with the answers that it got. No call that waits is made before the program
 * has made it again there, and none is made twice.
 */
export class OwnSandbox implements OwnPlace {
  readonly program: ProgramInside;
  readonly running: Stoppable | undefined;
  /** Settles when the rehearsal begins. */
  readonly left: Promise<void>;
  readonly #parts: OwnSandboxParts;
  readonly #calls: LastingCalls;
  readonly #left = Promise.withResolvers<void>();
  readonly #rehearsed = Promise.withResolvers<Moment>();
  #stoppable: Stoppable | undefined;
  #isLeft = false;
  #isOver = false;
  /** What the program had done when its rehearsal began. */
  #before: Pick<Required<Outcome>, "trace" | "emitted"> & { readonly calls: SandboxConnection["metrics"] } = {
    ...{ trace: undefined, emitted: [], calls: { toolCalls: 0, toolResultBytes: 0 } },
  };

  constructor(parts: OwnSandboxParts) {
    this.#parts = parts;
    this.#calls = new LastingCalls(parts.calls);
    this.left = this.#left.promise;
    this.program = new ProgramInside(parts.sandbox, parts.inside, this.#calls.first);
    this.#stoppable = parts.stoppable(this.program);
    this.running = this.#stoppable && {
      stop: async () => {
        await this.ready;
        this.#calls.stop();
        return this.#stoppable?.stop();
      },
      goOn: () => {
        this.#calls.goOn();
        this.#stoppable?.goOn();
      },
    };
  }

  /**
   * Whether the program can go on in rehearsal from a moment of its run. It does so once, and not if its run could not begin again just
   * so because the trace lacks something.
   */
  canRehearse({ isTraced = false, trace }: Moment): boolean {
    if (this.#isLeft || this.#isOver || !isTraced || trace?.complete !== true) return false;
    return this.#parts.inside.timeLimit.spentMs < MAX_SPENT_MS;
  }

  /** Settles when the run is where it was before its rehearsal; rejects if it does not come there. */
  get ready(): Promise<void> {
    return this.#calls.ready;
  }

  /** Goes on in rehearsal. Resolves with how that ends. Nothing of the program's further output is kept. */
  async rehearse({ dispatcher, surroundings, observers }: Rehearsing, signal: AbortSignal): Promise<Outcome> {
    if (this.#isOver) return fail("Cancelled", "the run is over");
    const { inside, elsewhere } = this.#parts;
    this.#isLeft = true;
    const { metrics, trace, emitted } = this.program.connection;
    this.#before = { trace, emitted: [...emitted], calls: { ...metrics } };
    elsewhere.leave();
    inside.timeLimit.leave();
    const log = new CallLog(observers, inside.scope.clock);
    const calls = interceptCalls(dispatcher, callInterceptors(surroundings, { log }));
    const approvals = new RunApprovals("", { ask: async () => ({ decision: "denied", by: "rehearsal" }) });
    const ending = this.program.ending({ signal, suspension: undefined });
    this.#left.resolve();
    this.#calls.rehearse({
      dispatch: (call, run) => calls.dispatch(call, { ...run, approvals, events: undefined }),
    });
    this.program.connection.letGo();
    return this.program.end((await ending) ?? { kind: "cancelled" }, log);
  }

  /** The run ends without having begun again: from now on, it does not. */
  end(): void {
    this.#isOver = true;
  }

  /** The run has ended. Nobody waits any more for it to begin again. */
  ended(): void {
    this.#calls.end();
  }

  /** The rehearsal from a moment is over, if there was one here. The run begins again. */
  beginAgain(moment: Moment): void {
    if (this.#isLeft) this.#rehearsed.resolve(moment);
  }

  /** Runs the program again once it has been rehearsed, and judges how it ended. */
  async again(): Promise<Outcome> {
    try {
      return await this.#again();
    } finally {
      this.#calls.end();
    }
  }

  async #again(): Promise<Outcome> {
    const { inside, elsewhere, log, stoppable } = this.#parts;
    const { timeLimit, run } = inside;
    const moment = await untilAborted(this.#rehearsed.promise, run.signal);
    const acquired = moment && (await untilAborted(elsewhere.acquire(), run.signal));
    if (moment === undefined || acquired === undefined) return this.#unbegun();
    if (!acquired.ok) return this.#unbegun(acquired.message);
    const { sandbox, output } = acquired;
    const stop = new AbortController();
    const signal = AbortSignal.any([run.signal, stop.signal]);
    const { calls, dispatcher } = this.#calls.beginAgain(moment.calls, () => stop.abort());
    const { started_ms, clock, events } = moment.trace ?? { started_ms: 0, clock: "", events: "" };
    const again = {
      ...inside,
      ...{ output, run: { ...run, signal } },
      environment: { ...inside.environment, replay: { started_ms, clock, events, resumes: true as const } },
    };
    const program = new ProgramInside(sandbox, again, dispatcher);
    this.#stoppable = stoppable(program);
    const unsent = await program.send();
    if (unsent?.verdict.ok === false) {
      const { type, message } = unsent.verdict.error;
      return this.#unbegun(type === "Cancelled" ? undefined : message);
    }
    timeLimit.start({});
    // The program is not paused before it is where it was.
    this.ready.then(
      () => timeLimit.letPause(sandbox),
      () => {},
    );
    const ending = await program.ending({ signal, suspension: run.suspension, timeLimit });
    const ended = await program.end(ending ?? { kind: "cancelled" }, log);
    const metrics = ended.metrics && { ...ended.metrics, duration_ms: Math.round(log.elapsedMs) };
    const outcome = { ...ended, ...(metrics && { metrics }) };
    return (outcome.suspended === undefined ? divergenceOf(outcome, calls) : undefined) ?? outcome;
  }

  /**
   * The outcome of a run that has made calls, and does not begin again. It does not say that it can be tried again, because that could
   * make the calls again.
   *
   * @param why by default, the run was cancelled.
   */
  async #unbegun(why?: string): Promise<Outcome> {
    const { log } = this.#parts;
    const { connection } = this.program;
    const { answered } = this.#calls;
    const [type, what] =
      why === undefined
        ? (["Cancelled", "the run was cancelled"] as const)
        : (["InternalError", `the run could not begin again after its rehearsal: ${why}`] as const);
    const made =
      answered === 0 ? "" : `; before that, ${answered === 1 ? "a call was" : `${answered} calls were`} made`;
    this.#calls.end();
    await log.end();
    const { calls, trace, emitted } = this.#before;
    return {
      ...fail(type, `${what}${made}`),
      metrics: {
        duration_ms: Math.round(log.elapsedMs),
        tool_calls: calls.toolCalls,
        tool_result_bytes: calls.toolResultBytes,
      },
      runtime: (await connection.ready).runtime,
      ...{ trace, emitted, warnings: log.warnings, answers: log.answers },
    };
  }
}
