import { setMaxListeners } from "node:events";
import { interceptCalls } from "../broker/call-interceptors.ts";
import type { CallDispatcher, CallingRun, CallOutcome, RequestedCall } from "../broker/dispatcher.ts";
import { digestOf } from "../protocol/canonical-json.ts";
import type { KeptCall } from "./suspension/kept-calls.ts";
import { ResumedCalls } from "./suspension/resumed-calls.ts";

/** A call that was begun. */
interface OpenCall {
  readonly call: RequestedCall;
  readonly run: CallingRun;
  readonly made: Promise<CallOutcome>;
  readonly rehearsed: PromiseWithResolvers<CallOutcome>;
  hasEnded: boolean;
}

/**
 * The calls of a run whose sandbox may go on in rehearsal, while the run begins again in another one. A call is made once, whichever
 * sandbox waits for its answer, and noted once. A call that waits for an approval goes on only when the run has made it again.
 */
export class LastingCalls {
  readonly #calls: CallDispatcher;
  readonly #ends = new AbortController();
  /** By number: the calls that have not ended, and from a stop on those too that have ended since. */
  readonly #open = new Map<number, OpenCall>();
  readonly #madeAgain = Promise.withResolvers<void>();
  #count = 0;
  #answered = 0;
  #isStopped = false;
  #rehearsal: CallDispatcher | undefined;
  #followed: AbortSignal | undefined;

  /** @param calls answers the calls of the run. */
  constructor(calls: CallDispatcher) {
    this.#calls = calls;
    setMaxListeners(0, this.#ends.signal);
    this.#madeAgain.promise.catch(() => {});
  }

  /**
   * Settles when a run that has begun again has come to where it was, and rejects if it does not. Resolved as long as the run has not
   * been in rehearsal.
   */
  get ready(): Promise<void> {
    return this.#rehearsal === undefined ? Promise.resolve() : this.#madeAgain.promise;
  }

  /** Answers the calls of the first sandbox. */
  readonly first: CallDispatcher = {
    dispatch: (call, run) => {
      const seq = ++this.#count;
      if (this.#rehearsal !== undefined) return this.#rehearsal.dispatch(call, { ...run, seq });
      this.#follow(run.signal);
      const made = this.#calls.dispatch(call, { ...run, signal: this.#ends.signal });
      const rehearsed = Promise.withResolvers<CallOutcome>();
      const open: OpenCall = { call, run: { ...run, seq }, made, rehearsed, hasEnded: false };
      this.#open.set(seq, open);
      const end = (outcome?: CallOutcome) => {
        open.hasEnded = true;
        if (outcome !== undefined && outcome.decision !== "denied") this.#answered++;
        if (!this.#isStopped) this.#open.delete(seq);
      };
      made.then(end, () => end());
      return Promise.race([made, rehearsed.promise]);
    },
  };

  /** How many calls of the first sandbox were made and have their answers. */
  get answered(): number {
    return this.#answered;
  }

  /** The first sandbox is stopped. The run may begin again without the answers that calls get from now on, so they are kept. */
  stop(): void {
    this.#isStopped = true;
  }

  /** The first sandbox goes on, and the run does not begin again. */
  goOn(): void {
    if (this.#rehearsal !== undefined) return;
    this.#isStopped = false;
    for (const [seq, { hasEnded }] of this.#open) if (hasEnded) this.#open.delete(seq);
  }

  /** The first sandbox is in rehearsal from now on, and what it waits for is rehearsed too. */
  rehearse(rehearsal: CallDispatcher): void {
    this.#rehearsal = rehearsal;
    for (const { call, run, rehearsed, hasEnded } of this.#open.values())
      if (!hasEnded) rehearsed.resolve(rehearsal.dispatch(call, run));
  }

  /**
   * Answers the calls of the sandbox in which the run begins again: with the answers that the run had when it was stopped, and with
   * those of the calls that were open then as soon as they have them.
   *
   * @param made the calls before the rehearsal, in the order of their numbers.
   * @param onStop called when the program does something else than before.
   */
  beginAgain(
    made: readonly KeptCall[],
    onStop: () => void,
  ): { calls: ResumedCalls; dispatcher: CallDispatcher } {
    const goLive = async () => {
      this.#madeAgain.resolve();
      return undefined;
    };
    const calls = new ResumedCalls({ run: { calls: made }, goLive }, onStop, "it was rehearsed");
    const waiting = made.flatMap(({ outcome }, index) =>
      outcome === undefined ? (this.#open.get(index + 1) ?? []) : [],
    );
    const answers: CallDispatcher = {
      dispatch: (call, run) => {
        const at = waiting.findIndex((each) => keyOf(each.call) === keyOf(call));
        const [open] = at < 0 ? [] : waiting.splice(at, 1);
        return open?.made ?? this.#calls.dispatch(call, { ...run, signal: this.#ends.signal });
      },
    };
    const { dispatch } = interceptCalls(answers, [calls.aroundCalls]);
    return {
      calls,
      dispatcher: {
        dispatch: (call, run) => {
          this.#follow(run.signal);
          return dispatch(call, run);
        },
      },
    };
  }

  /** The run is over. What waits for a run that has begun again is not made. */
  end(): void {
    this.#madeAgain.reject(new Error("the run is over"));
    this.#ends.abort();
  }

  /** Calls end with the connection that waits for them, but not with a rehearsal. */
  #follow(signal: AbortSignal): void {
    if (this.#followed === signal) return;
    this.#followed = signal;
    const hasBegunAgain = this.#rehearsal !== undefined;
    const end = () => {
      if (hasBegunAgain || this.#rehearsal === undefined) this.end();
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  }
}

function keyOf({ tool, arguments: args, raw = false }: RequestedCall): string {
  return `${tool} ${raw} ${digestOf(args ?? null)}`;
}
