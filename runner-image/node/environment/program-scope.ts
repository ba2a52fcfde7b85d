import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Tells whose code is running: the current program's, or something that an earlier program of the session left behind. What a
 * program starts stays its own, by its asynchronous context; a function that a later program calls counts as the later
 * program's. In a session, code without a context does not belong to the current program.
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

  /** The current program has ended. */
  leave(): void {
    this.#present++;
  }

  /** Whether the running code was not started by the current program. */
  get isLate(): boolean {
    if (!this.#isSession) return false;
    return this.#owner.getStore() !== this.#present;
  }
}
