import { setImmediate } from "node:timers/promises";
import type { CallOutcome, RequestedCall } from "../broker/dispatcher.ts";
import { parseNamespacedName } from "../protocol/tool-name.ts";

/** One call that a program made, as it went. */
export interface CallRecord {
  /** 1 for the first call that was taken up. */
  seq: number;
  /** `mcp__<server_module>__<tool>`, as the program said it. */
  tool: string;
  arguments: unknown;
  /** The program asked for the MCP result too. */
  raw: boolean;
  /** Milliseconds after the program was sent in. */
  startedMs: number;
  durationMs: number;
  outcome: CallOutcome;
}

export interface CallObserver {
  /** A call is under way, as the `seq`th of its run. */
  onCallStarted?(call: { seq: number; tool: string }): void;
  /**
   * A call is over. Calls come in the order in which they ended, and at the end those that the program did not wait for. A
   * program gets no further answers while observers are many calls behind.
   */
  onCall?(call: CallRecord): void | Promise<void>;
}

type OpenCall = Omit<CallRecord, "durationMs" | "outcome">;

/** Results are kept in memory until observers are done with them. */
const MAX_BEHIND = 16;

/** Watches the calls of one run as they go by. */
export class CallLog {
  readonly #observers: readonly CallObserver[];
  readonly #clock: { nowMs(): number };
  readonly #startedAt: number;
  readonly #open = new Map<number, OpenCall>();
  #count = 0;
  /** Calls that observers have not been told of, or are not done with. */
  #behind = 0;
  #noted: Promise<void> = Promise.resolve();
  #denied = false;

  /** Times are counted from now. */
  constructor(observers: readonly CallObserver[], clock: { nowMs(): number }) {
    this.#observers = observers;
    this.#clock = clock;
    this.#startedAt = clock.nowMs();
  }

  /** An approval that a call needed was denied. */
  get denied(): boolean {
    return this.#denied;
  }

  /** `signal` is aborted when the program is over: what a call comes to after that is no answer. */
  async watch(
    requested: RequestedCall,
    signal: AbortSignal,
    answer: () => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    const { tool, arguments: args, raw = false } = requested;
    const seq = ++this.#count;
    const call: OpenCall = { seq, tool, arguments: args, raw, startedMs: this.#elapsedMs() };
    this.#open.set(seq, call);
    for (const observer of this.#observers) observer.onCallStarted?.({ seq, tool });
    const outcome = await answer();
    if (outcome.decision === "denied") this.#denied = true;
    if (!signal.aborted && this.#open.delete(seq)) this.#note(call, outcome);
    if (this.#behind > MAX_BEHIND) await this.#noted;
    return outcome;
  }

  /** The run is over: calls that were not answered by now never will be. */
  async end(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const call of open) this.#note(call, unanswered(call.tool));
    await this.#noted;
  }

  /** Observers are told when the answer is on its way: what they do with a call keeps no program waiting. */
  #note(call: OpenCall, outcome: CallOutcome): void {
    const record: CallRecord = { ...call, durationMs: this.#elapsedMs() - call.startedMs, outcome };
    this.#behind++;
    this.#noted = this.#noted.then(async () => {
      await setImmediate();
      for (const observer of this.#observers) await observer.onCall?.(record);
      this.#behind--;
    });
  }

  #elapsedMs(): number {
    return this.#clock.nowMs() - this.#startedAt;
  }
}

function unanswered(name: string): CallOutcome {
  const { module: server = "", tool = name } = parseNamespacedName(name) ?? {};
  const message = `'${name}' was not answered before the program ended`;
  const error = { type: "ToolError", server, tool, message, retryable: false } as const;
  return { ok: false, error, decision: "unanswered", bytes: 0 };
}
