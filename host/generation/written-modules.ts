import { join } from "node:path";
import { isGenerated } from "../../catalog/store/file-ownership.ts";
import type { Lockfile } from "../../catalog/store/lockfile.ts";
import { readOwnFile } from "../../catalog/store/own-file.ts";
import { PRINTER } from "../languages.ts";
import { fileVersion } from "./file-version.ts";

/** Finds generated modules on disk that are missing or were edited. A file is read again only after it has changed. */
export class WrittenModules {
  readonly #directory: string;
  /** By path, the file version and digest for which the file last matched the lock. */
  readonly #sound = new Map<string, string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The named servers whose modules are missing or do not match the lock. */
  async findDamaged(lock: Lockfile, names: readonly string[]): Promise<string[]> {
    const servers = await Promise.all(
      names.map(async (name) => {
        const locked = lock.servers.get(name);
        if (locked === undefined) return [];
        return (await this.#isSound(PRINTER.modulePath(locked.module), locked.moduleSha256)) ? [] : [name];
      }),
    );
    return servers.flat();
  }

  async #isSound(path: string, digest: string | undefined): Promise<boolean> {
    const version = fileVersion(join(this.#directory, path));
    if (version === undefined) return false;
    const state = `${version} ${digest}`;
    if (this.#sound.get(path) === state) return true;
    const text = await readOwnFile(this.#directory, path).catch(() => undefined);
    if (text === undefined || !isGenerated(text, digest)) return false;
    this.#sound.set(path, state);
    return true;
  }
}
