import { join } from "node:path";
import { isGenerated } from "../../catalog/store/file-ownership.ts";
import { readOwnFile } from "../../catalog/store/own-file.ts";
import { readLock } from "../../catalog/store/read-lock.ts";
import { finishCommit } from "../../catalog/store/write-generated.ts";
import type { GeneratedModule } from "../../codegen/generated-module.ts";
import type { ModuleSource } from "../../execution/prepare/module-source.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { PRINTER } from "../languages.ts";

/** The folder of generated modules, which is beside the configuration file. */
export function generatedDirectory(configuration: Configuration): string {
  return join(configuration.directory, "generated");
}

/** The generated modules of the servers in use. A module that was edited after generation is not loaded. */
export class GeneratedModules implements ModuleSource {
  readonly #directory: string;
  readonly #modules: ReadonlyMap<string, string | undefined>;
  readonly #callable: ReadonlySet<string>;

  /**
   * @param modules the digest of each module's text, where the lock has one.
   * @param callable namespaced names of the tools that programs may call.
   */
  constructor(
    directory: string,
    modules: ReadonlyMap<string, string | undefined>,
    callable: ReadonlySet<string>,
  ) {
    this.#directory = directory;
    this.#modules = modules;
    this.#callable = callable;
  }

  modules(): readonly string[] {
    return [...this.#modules.keys()].sort();
  }

  async load(module: string): Promise<GeneratedModule | undefined> {
    if (!this.#modules.has(module)) return undefined;
    try {
      const text = (await this.#read(module, this.#modules.get(module))) ?? (await this.#readRenewed(module));
      return text && PRINTER.readModule(module, text.toString(), this.#callable);
    } catch {
      return undefined;
    }
  }

  async #read(module: string, digest: string | undefined): Promise<Buffer | undefined> {
    const text = await readOwnFile(this.#directory, PRINTER.modulePath(module));
    return text !== undefined && isGenerated(text, digest) ? text : undefined;
  }

  /** Reads the module again with the lock on disk, in case another process has rewritten both. */
  async #readRenewed(module: string): Promise<Buffer | undefined> {
    await finishCommit(this.#directory);
    const lock = await readLock(this.#directory);
    const locked = [...(lock?.servers.values() ?? [])].find((server) => server.module === module);
    return locked && this.#read(module, locked.moduleSha256);
  }
}
