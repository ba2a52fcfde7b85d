/** What waits for the guard of a sandbox to say that it has done what it was told. */
export class GuardAnswers {
  readonly #waiting: (() => void)[] = [];

  /** Whether something waits. */
  get isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves with the answer to what is told to the guard now; never for a guard that has ended. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The guard has answered. */
  come(): void {
    this.#waiting.shift()?.();
  }
}
