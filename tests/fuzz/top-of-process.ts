const EVENTS = ["uncaughtException", "unhandledRejection"] as const;

/** Stands where an error would end the process, until it is released. */
export class TopOfProcess {
  readonly #listeners = EVENTS.map((event) => [event, process.listeners(event as "exit")] as const);
  readonly #take = (error: unknown) => {
    this.#error ??= { error };
    this.#arrived();
  };
  #error: { error: unknown } | undefined;
  #arrived: () => void = () => {};

  constructor() {
    for (const event of EVENTS) {
      process.removeAllListeners(event);
      process.on(event, this.#take);
    }
  }

  /** The first error that came since it was asked last. */
  takeError(): { error: unknown } | undefined {
    const error = this.#error;
    this.#error = undefined;
    return error;
  }

  /** Resolves when an error comes. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = resolve;
      if (this.#error !== undefined) resolve();
    });
  }

  release(): void {
    for (const [event, listeners] of this.#listeners) {
      process.removeListener(event, this.#take);
      for (const listener of listeners) process.on(event, listener);
    }
  }
}
