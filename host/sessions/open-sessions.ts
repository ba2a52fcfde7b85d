import { existsSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { OwnProcess } from "../processes/state-directory.ts";
import type { Sessions, SessionsOptions } from "./sessions.ts";

interface LazyOptions {
  /** Other processes of this user find the sessions in the folder of this one. */
  own: OwnProcess;
  /** What the sessions belong to, as `projectOf` says. */
  project: () => string;
}

/** The sessions of a process, whose code is loaded when the first one is asked for. */
export class LazySessions {
  readonly #options: SessionsOptions & LazyOptions;
  #opened: Promise<Sessions> | undefined;
  #socket: { close(): void } | undefined;

  constructor(options: SessionsOptions & LazyOptions) {
    this.#options = options;
  }

  open(): Promise<Sessions> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async #open(): Promise<Sessions> {
    const { own, project } = this.#options;
    const [{ Sessions }, { SessionsSocket }] = await Promise.all([
      import("./sessions.ts"),
      import("./sessions-socket.ts"),
    ]);
    const sessions = new Sessions(this.#options);
    this.#socket = new SessionsSocket(own.state.path, project, {
      list: async () => sessions.list(LOCAL_PRINCIPAL),
      end: (name) => sessions.end(LOCAL_PRINCIPAL, name),
    });
    return sessions;
  }

  /** The sessions, if one was ever asked for. */
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

/** What the sessions of a configuration are found by: its path, whatever folder it was named from. */
export function projectOf({ file, directory }: Pick<Configuration, "file" | "directory">): string {
  const real = existsSync(directory) ? realpathSync(directory) : directory;
  return file === undefined ? real : join(real, basename(file));
}
