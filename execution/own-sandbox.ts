import { untilAborted } from "../base/waiting.ts";
import { RunApprovals } from "../broker/approvals/approvals.ts";
import { interceptCalls } from "../broker/call-interceptors.ts";
import type { CallDispatcher } from "../broker/dispatcher.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { CallLog } from "./call-log.ts";
import { callInterceptors } from "./interceptors.ts";
import { LastingCalls } from "./lasting-calls.ts";
import { fail, type Outcome } from "./outcome.ts";
import type { OwnPlace, Rehearsing } from "./planning.ts";
import { type Elsewhere, type InsideRun, ProgramInside } from "./program-inside.ts";
import { divergenceOf } from "./suspension/continuation.ts";
import type { Moment, Stoppable } from "./suspension/suspension.ts";
import type { Pausable } from "./time-limit.ts";

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

  constructor(parts: OwnSandboxParts) {
    this.#parts = parts;
    this.#calls = new LastingCalls(parts.calls);
    this.left = this.#left.promise;
    this.program = new ProgramInside(parts.sandbox, parts.inside, this.#calls.first);
    this.#stoppable = parts.stoppable(this.program);
    this.running = this.#stoppable && {
      stop: async () => {
        await this.ready;
        return this.#stoppable?.stop();
      },
      goOn: () => this.#stoppable?.goOn(),
    };
  }

  /** Whether the program can go on in rehearsal from a moment of its run. It does so once. */
  canRehearse({ isTraced = false }: Moment): boolean {
    return !this.#isLeft && isTraced && this.#parts.inside.timeLimit.spentMs < MAX_SPENT_MS;
  }

  /** Settles when the run is where it was before its rehearsal; rejects if it does not come there. */
  get ready(): Promise<void> {
    return this.#calls.ready;
  }

  /** Goes on in rehearsal. Resolves with how that ends. Nothing of the program's further output is kept. */
  async rehearse({ dispatcher, surroundings, observers }: Rehearsing, signal: AbortSignal): Promise<Outcome> {
    const { inside, elsewhere } = this.#parts;
    this.#isLeft = true;
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
    if (moment === undefined || acquired === undefined)
      return this.#unbegun("Cancelled", "the run was cancelled");
    if (!acquired.ok) return this.#unbegun("SandboxUnavailable", acquired.message);
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
    if (unsent !== undefined) return { ...unsent, ...(await this.#ended()) };
    timeLimit.start(pausedOnceReady(sandbox, this.ready));
    const ending = await program.ending({ signal, suspension: run.suspension, timeLimit });
    const ended = await program.end(ending ?? { kind: "cancelled" }, log);
    const metrics = ended.metrics && { ...ended.metrics, duration_ms: Math.round(log.elapsedMs) };
    const outcome = { ...ended, ...(metrics && { metrics }) };
    return (outcome.suspended === undefined ? divergenceOf(outcome, calls) : undefined) ?? outcome;
  }

  async #unbegun(...why: Parameters<typeof fail>): Promise<Outcome> {
    this.#calls.end();
    return { ...fail(...why), ...(await this.#ended()) };
  }

  /** What is known of a run that has made calls, and does not come to where it was. */
  async #ended(): Promise<Pick<Outcome, "warnings" | "answers">> {
    const { log } = this.#parts;
    this.#calls.end();
    await log.end();
    return { warnings: log.warnings, answers: log.answers };
  }
}

/** A sandbox that is not paused before its program is where it was. */
function pausedOnceReady(sandbox: Sandbox, ready: Promise<void>): Pausable {
  if (sandbox.pause === undefined || sandbox.resume === undefined) return {};
  let [isPaused, isReady] = [false, false];
  ready.then(
    () => {
      isReady = true;
      if (isPaused) sandbox.pause?.();
    },
    () => {},
  );
  return {
    pause() {
      isPaused = true;
      if (isReady) sandbox.pause?.();
    },
    resume() {
      isPaused = false;
      if (isReady) sandbox.resume?.();
    },
  };
}
