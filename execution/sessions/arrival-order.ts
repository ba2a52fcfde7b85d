import type { RunContext } from "../../protocol/run-context.ts";

/** The place of a program among those that came for the same session. */
export interface Arrival {
  /** Resolves when those that came before it wait in their session, or are given up. Never rejects. */
  readonly isNext: Promise<void>;
  /** Lets the one after it pass: it waits in its session now, or is given up. Safe to call twice. */
  pass(): void;
}

/** Has programs enter their sessions in the order in which they came, however long each takes to be made ready. */
export class ArrivalOrder {
  /** What the next one of a session waits for. */
  readonly #last = new Map<string, Promise<void>>();

  /** Notes that a program has come. `undefined` for one that is in no session. */
  note({ context, session }: { context: RunContext; session?: string | undefined }): Arrival | undefined {
    if (session === undefined) return undefined;
    const key = JSON.stringify([context.principal, session]);
    const isNext = this.#last.get(key) ?? Promise.resolve();
    let pass = () => {};
    const own = new Promise<void>((resolve) => {
      pass = resolve;
    });
    const passed = Promise.all([isNext, own]).then(() => {
      if (this.#last.get(key) === passed) this.#last.delete(key);
    });
    this.#last.set(key, passed);
    return { isNext, pass };
  }
}
