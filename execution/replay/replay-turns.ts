import { Turns } from "../../base/turns.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { UsageLimits } from "../limits/usage-limits.ts";

/** The most replays at a time, over all principals. A replay needs a sandbox as a program does. */
const MAX_REPLAYS = 2;
/** The most replays of one principal that are under way or wait. */
const MAX_ASKED = 8;

/**
 * Replays that people ask for, over HTTP or in the console: a few at a time, by turns between principals, and each counts against what
 * its principal may use as a program does.
 */
export class ReplayTurns {
  readonly #use: Pick<UsageLimits, "admit">;
  readonly #turns = new Turns<() => void>();
  #running = 0;

  constructor(use: Pick<UsageLimits, "admit">) {
    this.#use = use;
  }

  /** Does work when it is the principal's turn. Resolves with the result, or with the reason why the work was not begun. */
  async take<T>(
    context: RunContext,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<{ ok: true; value: T } | { ok: false; why: string }> {
    const { principal } = context;
    if (this.#turns.has(principal) >= MAX_ASKED)
      return {
        ok: false,
        why: `${MAX_ASKED} replays of yours are under way or wait; try again when they have ended`,
      };
    if (!(await this.#turnOf(principal, signal)))
      return { ok: false, why: "the replay was cancelled while it waited" };
    try {
      const admission = await this.#use.admit(context);
      if (admission.kind !== "admitted") return { ok: false, why: admission.failure.message };
      try {
        return { ok: true, value: await work() };
      } finally {
        admission.allowance.end();
      }
    } finally {
      this.#running--;
      this.#turns.end(principal);
      this.#beginNext();
    }
  }

  /** Resolves when it is the principal's turn, or with `false` if nobody waits for it any more. */
  #turnOf(principal: string, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const begin = () => {
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      const leave = () => {
        if (this.#turns.leave(principal, begin)) resolve(false);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#turns.wait(principal, begin);
      if (signal.aborted) leave();
      this.#beginNext();
    });
  }

  #beginNext(): void {
    while (this.#running < MAX_REPLAYS) {
      const next = this.#turns.next();
      if (next === undefined) return;
      this.#running++;
      next.item();
    }
  }
}
