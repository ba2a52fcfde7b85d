import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Lockfile } from "../catalog/lockfile.ts";
import { moduleDigest } from "../catalog/reuse-module.ts";
import { fileVersion } from "./file-version.ts";

/** Looks after the generated modules on disk. A file is read again only after it was written. */
export class WrittenModules {
  readonly #directory: string;
  /** The files that were found to be as the lock has them, by path: as which version of the file, with which digest. */
  readonly #sound = new Map<string, string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Those of the named servers whose modules are missing, or not as they were generated. */
  async findDamaged(lock: Lockfile, names: readonly string[]): Promise<string[]> {
    const servers = await Promise.all(
      names.map(async (name) => {
        const locked = lock.servers.get(name);
        if (locked === undefined) return [];
        const path = join(this.#directory, "servers", locked.module, "index.ts");
        return (await this.#isSound(path, locked.moduleSha256)) ? [] : [name];
      }),
    );
    return servers.flat();
  }

  async #isSound(path: string, digest: string | undefined): Promise<boolean> {
    const version = await fileVersion(path);
    if (version === undefined) return false;
    // Of a module with warnings the lock has no digest.
    if (digest === undefined) return true;
    const state = `${version} ${digest}`;
    if (this.#sound.get(path) === state) return true;
    const text = await readFile(path, "utf8").catch(() => undefined);
    if (text === undefined || moduleDigest(text) !== digest) return false;
    this.#sound.set(path, state);
    return true;
  }
}
