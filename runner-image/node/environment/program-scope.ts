import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Whose code runs: that of the present program, or what an earlier program of the session has left behind. What a program
 * begins stays its own, by its asynchronous context; a function that a later program calls runs as that program's. In a
 * session, code without a context does not belong to the present program.
 */
export class ProgramScope {
  readonly #owner = new AsyncLocalStorage<number>();
  #present = 0;
  #isSession = false;

  /** Begins a program and runs its code. */
  enter<T>(isSession: boolean, run: () => T): T {
    this.#isSession ||= isSession;
    return this.#isSession ? this.#owner.run(this.#present, run) : run();
  }

  /** The present program has ended. */
  leave(): void {
    this.#present++;
  }

  /** Whether what runs now was not begun by the present program. */
  get isLate(): boolean {
    if (!this.#isSession) return false;
    return this.#owner.getStore() !== this.#present;
  }
}
