import { join } from "node:path";
import { RecentlyUsed } from "../base/recently-used.ts";
import { fileVersion, readOwnFile } from "../catalog/store/own-file.ts";
import {
  type Lockfile,
  moduleDigest,
  readLock,
  type StoredCatalog,
} from "../catalog/store/stored-catalog.ts";
import { finishCommit, isGenerated } from "../catalog/store/write-generated.ts";
import type { GeneratedModule, LanguagePrinter } from "../codegen/language-printer.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { ModuleSource } from "../languages/module-source.ts";

/** The most modules that are held, and the most bytes of their texts. */
const MAX_MODULES = 200;
const MAX_BYTES = 32 * 1024 * 1024;

/** The folder of generated modules, which is beside the configuration file, or a private one where there is no file. */
export function generatedDirectory({ directory, generated }: Configuration): string {
  return generated ?? join(directory, "generated");
}

/** What was generated and is in no folder: entries of the catalog and of the lock, and module texts by path. */
export interface HeldModules extends StoredCatalog {
  readonly files: ReadonlyMap<string, string>;
}

/** The generated modules of the servers in use. A module that was edited after generation is not loaded. */
export class GeneratedModules implements ModuleSource {
  readonly #known: { readonly unlisted: ReadonlyMap<string, string> };
  readonly #directory: string;
  readonly #held: ReadonlyMap<string, string>;
  readonly #modules: ReadonlyMap<string, string | undefined>;
  readonly #callable: ReadonlySet<string>;
  readonly #printer: Pick<LanguagePrinter, "modulePath" | "readModule">;
  /** The modules read last, each with the version of its file just before. */
  readonly #loaded = new RecentlyUsed<string, { version: string | undefined; module: GeneratedModule }>({
    maxEntries: MAX_MODULES,
    maxWeight: MAX_BYTES,
  });

  /**
   * @param modules the digest of each module's text, if the lock has one.
   * @param callable namespaced names of the tools that programs may call.
   * @param printer of the language whose modules these are.
   * @param held texts by path that are in no folder.
   * @param known has why the tools of servers cannot be called now, by module.
   */
  constructor(
    directory: string,
    modules: ReadonlyMap<string, string | undefined>,
    callable: ReadonlySet<string>,
    printer: Pick<LanguagePrinter, "modulePath" | "readModule">,
    held: HeldModules["files"] = new Map(),
    known: { readonly unlisted: ReadonlyMap<string, string> } = { unlisted: new Map() },
  ) {
    this.#known = known;
    this.#directory = directory;
    this.#held = held;
    this.#modules = modules;
    this.#callable = callable;
    this.#printer = printer;
  }

  get unlisted(): ReadonlyMap<string, string> {
    return this.#known.unlisted;
  }

  modules(): readonly string[] {
    return [...this.#modules.keys()].sort();
  }

  async load(module: string): Promise<GeneratedModule | undefined> {
    if (!this.#modules.has(module)) return undefined;
    const held = this.#held.get(this.#printer.modulePath(module));
    if (held !== undefined) return this.#printer.readModule(module, held, this.#callable);
    const version = fileVersion(join(this.#directory, this.#printer.modulePath(module)));
    const known = this.#loaded.get(module);
    if (known !== undefined && known.version === version) return known.module;
    try {
      const text = (await this.#read(module, this.#modules.get(module))) ?? (await this.#readRenewed(module));
      if (text === undefined) return undefined;
      const loaded = this.#printer.readModule(module, text.toString(), this.#callable);
      this.#loaded.set(module, { version, module: loaded }, text.length);
      return loaded;
    } catch {
      return undefined;
    }
  }

  async #read(module: string, digest: string | undefined): Promise<Buffer | undefined> {
    const text = await readOwnFile(this.#directory, this.#printer.modulePath(module));
    return text !== undefined && isGenerated(text, digest) ? text : undefined;
  }

  /** Reads the module again with the lock on disk, in case another process has rewritten both. */
  async #readRenewed(module: string): Promise<Buffer | undefined> {
    await finishCommit(this.#directory);
    const lock = await readLock(this.#directory);
    const locked = [...(lock?.servers.values() ?? [])].find((server) => server.module === module);
    return lock && locked && this.#read(module, moduleDigest(lock, locked, this.#printer.modulePath(module)));
  }
}

/** Finds generated modules on disk that are missing or were edited. A file is read again only after it has changed. */
export class WrittenModules {
  readonly #directory: string;
  /** By path, the file version and digest for which the file last matched the lock. */
  readonly #sound = new Map<string, string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The named servers with a module, of any printer, that is missing or does not match the lock. */
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
