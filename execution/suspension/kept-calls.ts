import type { CallInterceptor } from "../../broker/call-interceptors.ts";
import type { CallOutcome, RequestedCall } from "../../broker/dispatcher.ts";
import { digestOf } from "../../protocol/canonical-json.ts";

/** The most bytes of arguments and results that are held for the suspension of one run. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;

/** A call of a suspended run. */
export interface KeptCall {
  tool: string;
  /** Digest of its arguments as the program sent them, including secrets. */
  argumentsDigest: string;
  raw: boolean;
  startedMs: number;
  durationMs: number;
  /** Absent when the call waits for an approval. */
  outcome?: CallOutcome;
}

interface HeldCall {
  requested: RequestedCall;
  startedMs: number;
  endedMs?: number;
  outcome?: CallOutcome;
}

/** Holds the calls of a run as long as the run may be suspended. Holds nothing once they are too large. */
export class KeptCalls {
  readonly #now: () => number;
  #held: HeldCall[] | undefined = [];
  #bytes = 0;

  /** @param now milliseconds since the program was sent. */
  constructor(now: () => number) {
    this.#now = now;
  }

  readonly aroundCalls: CallInterceptor = (next) => async (requested, run) => {
    const held: HeldCall = { requested, startedMs: this.#now() };
    this.#add(run.bytes ?? 0);
    this.#held?.push(held);
    const outcome = await next(requested, run);
    this.#add(outcome.bytes);
    held.endedMs = this.#now();
    held.outcome = requested.raw === true || !("raw" in outcome) ? outcome : { ...outcome, raw: undefined };
    return outcome;
  };

  /** The calls so far in the order in which the program made them; `undefined` when they are too large to be kept. */
  list(): KeptCall[] | undefined {
    return this.#held?.map(({ requested, startedMs, endedMs = startedMs, outcome }) => {
      const { tool, arguments: args, raw = false } = requested;
      const argumentsDigest = digestOf(args ?? null);
      const times = outcome?.earlier ?? { startedMs, durationMs: endedMs - startedMs };
      // The origins of values are found again when the calls are made again.
      const { flow: _, ...kept } = outcome ?? {};
      return { tool, argumentsDigest, raw, ...times, ...(outcome && { outcome: kept as CallOutcome }) };
    });
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MAX_HELD_BYTES) this.#held = undefined;
  }
}
