import { existsSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import type { Configuration } from "../../configuration/configuration.ts";
import { localPrincipal } from "../../system/local-actor.ts";
import type { OwnProcess } from "../../system/state-directory.ts";
import type { Arrival } from "./arrival-order.ts";
import type { EnteredSession, EnteringProgram, Sessions, SessionsOptions } from "./sessions.ts";

interface LazyOptions {
  /** Other processes of this user find the sessions in the folder of this one. */
  own: OwnProcess;
  /** The project that the sessions belong to, as `projectOf` returns it. */
  project: () => string;
}

/** The sessions of a process. Their code is loaded when the first session is requested. */
export class LazySessions {
  readonly #options: SessionsOptions & LazyOptions;
  #opened: Promise<Sessions> | undefined;
  #socket: { close(): void } | undefined;

  constructor(options: SessionsOptions & LazyOptions) {
    this.#options = options;
  }

  /** Enters a session after the programs that came for it earlier; `undefined` for a program in no session. */
  async enter(
    request: EnteringProgram,
    language: string,
    arrival: Arrival | undefined,
  ): Promise<EnteredSession | undefined> {
    const { session } = request;
    if (session === undefined) return undefined;
    this.#opened ??= this.#open();
    const opened = await this.#opened;
    await arrival?.isNext;
    const entering = opened.enter(session, request, language);
    arrival?.pass();
    return entering;
  }

  async #open(): Promise<Sessions> {
    const { own, project } = this.#options;
    const [{ Sessions }, { answerForSessions }] = await Promise.all([
      import("./sessions.ts"),
      import("./sessions-socket.ts"),
    ]);
    const sessions = new Sessions(this.#options);
    this.#socket = answerForSessions(own.state.path, project, {
      list: async () => sessions.list(localPrincipal()),
      end: (name) => sessions.end(localPrincipal(), name),
    });
    return sessions;
  }

  /** The sessions, if one was ever requested. */
  async ifOpened(): Promise<Sessions | undefined> {
    return this.#opened;
  }

  /** Ends all of them. Never rejects. */
  async close(): Promise<void> {
    const opened = await this.#opened;
    this.#socket?.close();
    await opened?.close();
  }
}

/** The key by which the sessions of a configuration are found: its real path, from whichever folder it was named. */
export function projectOf({ file, directory }: Pick<Configuration, "file" | "directory">): string {
  const real = existsSync(directory) ? realpathSync(directory) : directory;
  return file === undefined ? real : join(real, basename(file));
}
