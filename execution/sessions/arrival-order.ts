import { identityKey, type RunContext } from "../../protocol/run-context.ts";

/** The place of a program among those that came for the same session. */
export interface Arrival {
  /** Resolves when all earlier programs wait in their session or have given up. Never rejects. */
  readonly isNext: Promise<void>;
  /** Lets the next program pass, because this one waits in its session or has given up. Safe to call twice. */
  pass(): void;
}

/** Lets programs enter their sessions in the order in which they came, however long each takes to prepare. */
export class ArrivalOrder {
  /** By session, the promise that its next program waits for. */
  readonly #last = new Map<string, Promise<void>>();

  /** Notes that a program has come. Returns `undefined` for a program in no session. */
  note({ context, session }: { context: RunContext; session?: string | undefined }): Arrival | undefined {
    if (session === undefined) return undefined;
    const key = JSON.stringify([identityKey(context), session]);
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
