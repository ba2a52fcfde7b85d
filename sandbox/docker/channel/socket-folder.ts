import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/**
 * The folder on the host that holds what is mounted into sandboxes.
 *
 *     <folder>/<random>/broker.sock  one folder per sandbox
 */
export class SocketFolder {
  readonly #path: string;

  /** @param path an existing folder that other users of the host cannot enter. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Makes the folder that is mounted into one sandbox. */
  makeSocketDirectory(): string {
    const path = join(this.#path, randomBytes(6).toString("hex"));
    mkdirSync(path);
    // The sandbox's user must be able to reach the socket. The parent folder keeps other users of the host out.
    chmodSync(path, 0o755);
    return path;
  }
}
