import { Worker } from "node:worker_threads";
import type { CheckOutcome } from "./checking-process.ts";
import type { CheckAnswer, CheckText } from "./schema-worker.ts";

const START_TIMEOUT_MS = 20_000;

/**
 * A thread that checks one value at a time, for checks that may take any time but little memory. A thread can be stopped,
 * but one that runs out of memory ends the whole process, whatever its resource limits.
 */
export class CheckingThread {
  readonly #module: URL;
  #worker: Worker | undefined;
  #started: Promise<boolean> | undefined;
  #settle: ((outcome: CheckOutcome | { state: "ready" }) => void) | undefined;
  #hasEnded = false;

  constructor(module: URL) {
    this.#module = module;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Checks one value. The caller must wait for the outcome before the next check. Never throws. */
  async check(text: CheckText, timeoutMs: number): Promise<CheckOutcome> {
    this.#started ??= this.#start();
    if (!(await this.#started)) return { state: "not_started" };
    const answered = this.#answer(timeoutMs, { state: "overtime", of: "value" });
    this.#worker?.postMessage(text);
    const outcome = await answered;
    return outcome.state === "ready" ? { state: "died" } : outcome;
  }

  /** Ends the thread at once. A running check ends as `died`. */
  end(): void {
    this.#endAs({ state: "died" });
  }

  #endAs(outcome: CheckOutcome): void {
    this.#hasEnded = true;
    void this.#worker?.terminate().catch(() => {});
    this.#settle?.(outcome);
  }

  async #start(): Promise<boolean> {
    try {
      const worker = new Worker(this.#module, { env: {}, execArgv: [] });
      this.#worker = worker;
      worker.on("message", (answer: CheckAnswer) => this.#settle?.(answer));
      worker.on("error", () => this.end()).on("exit", () => this.end());
      // An idle thread must not keep ptc running. During a check its timer does.
      worker.unref();
    } catch {
      this.#hasEnded = true;
      return false;
    }
    return (await this.#answer(START_TIMEOUT_MS, { state: "died" })).state === "ready";
  }

  /** The next answer of the thread. If it does not answer in time, it is ended and the outcome is `late`. */
  #answer(timeoutMs: number, late: CheckOutcome): Promise<CheckOutcome | { state: "ready" }> {
    return new Promise((resolve) => {
      const clock = setTimeout(() => this.#endAs(late), timeoutMs);
      this.#settle = (outcome) => {
        clearTimeout(clock);
        this.#settle = undefined;
        resolve(outcome);
      };
      if (this.#hasEnded) this.#settle({ state: "died" });
    });
  }
}
