import type { SessionStatus } from "./kept-session.ts";
import type { Sessions, SessionsOptions } from "./sessions.ts";

/** The sessions of one principal. */
export interface OpenSessions {
  list(): Promise<SessionStatus[]>;
  /** False when there is none of this name. */
  end(name: string): Promise<boolean>;
}

/** The sessions of a process, whose code is loaded when the first one is asked for. */
export class LazySessions {
  readonly #options: SessionsOptions;
  #opened: Promise<Sessions> | undefined;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  open(): Promise<Sessions> {
    this.#opened ??= import("./sessions.ts").then(({ Sessions }) => new Sessions(this.#options));
    return this.#opened;
  }

  /** The sessions, if one was ever asked for. */
  async ifOpened(): Promise<Sessions | undefined> {
    return this.#opened;
  }

  /** Ends all of them. Never rejects. */
  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }
}
