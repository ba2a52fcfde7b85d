import { join } from "node:path";
import { fileVersion, readOwnFile } from "../catalog/store/own-file.ts";
import { type Lockfile, moduleDigest } from "../catalog/store/stored-catalog.ts";
import { isGenerated } from "../catalog/store/write-generated.ts";
import type { LanguagePrinter } from "../codegen/language-printer.ts";

/** Finds generated modules on disk that are missing or were edited. A file is read again only after it has changed. */
export class WrittenModules {
  readonly #directory: string;
  /** By path, the file version and digest for which the file last matched the lock. */
  readonly #sound = new Map<string, string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The named servers some of whose modules, those of each printer, are missing or do not match the lock. */
  async findDamaged(
    lock: Lockfile,
    names: readonly string[],
    printers: readonly Pick<LanguagePrinter, "modulePath">[],
  ): Promise<string[]> {
    const servers = await Promise.all(
      names.map(async (name) => {
        const locked = lock.servers.get(name);
        if (locked === undefined) return [];
        const paths = printers.map((printer) => printer.modulePath(locked.module));
        const sound = await Promise.all(
          paths.map((path) => this.#isSound(path, moduleDigest(lock, locked, path))),
        );
        return sound.every(Boolean) ? [] : [name];
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
