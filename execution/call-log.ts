import type { CallOutcome, RequestedCall } from "../broker/dispatcher.ts";

/** One call that a program made, as it went. */
export interface CallRecord {
  /** 1 for the first call that was taken up. */
  seq: number;
  /** `mcp__<server_module>__<tool>`, as the program said it. */
  tool: string;
  arguments: unknown;
  /** Milliseconds after the program was sent in. */
  startedMs: number;
  durationMs: number;
  outcome: CallOutcome;
}

export interface CallObserver {
  /** A call is under way, as the `seq`th of its run. */
  onCallStarted?(call: { seq: number; tool: string }): void;
  /** A call is over. Calls come in the order in which they ended. */
  onCall?(call: CallRecord): void;
}

/** Watches the calls of one run as they go by. */
export class CallLog {
  readonly #observer: CallObserver;
  readonly #clock: { nowMs(): number };
  readonly #startedAt: number;
  #count = 0;

  /** Times are counted from now. */
  constructor(observer: CallObserver, clock: { nowMs(): number }) {
    this.#observer = observer;
    this.#clock = clock;
    this.#startedAt = clock.nowMs();
  }

  async watch(call: RequestedCall, answer: () => Promise<CallOutcome>): Promise<CallOutcome> {
    const seq = ++this.#count;
    const startedMs = this.#clock.nowMs() - this.#startedAt;
    this.#observer.onCallStarted?.({ seq, tool: call.tool });
    const outcome = await answer();
    const durationMs = this.#clock.nowMs() - this.#startedAt - startedMs;
    this.#observer.onCall?.({
      seq,
      tool: call.tool,
      arguments: call.arguments,
      startedMs,
      durationMs,
      outcome,
    });
    return outcome;
  }
}
