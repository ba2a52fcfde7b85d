import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { StoredCatalog } from "../catalog/stored-catalog.ts";
import type { ModuleSource } from "../execution/bundle.ts";

/** The modules that `ptc generate` wrote, for the servers in use. */
export class GeneratedModules implements ModuleSource {
  readonly #directory: string;
  readonly #modules: readonly string[];

  constructor(directory: string, servers: readonly string[], stored: StoredCatalog | undefined) {
    this.#directory = directory;
    const used = new Set(servers);
    this.#modules = (stored?.catalog.servers ?? [])
      .filter((server) => used.has(server.name))
      .map((server) => server.module)
      .sort();
  }

  modules(): readonly string[] {
    return this.#modules;
  }

  async load(module: string): Promise<string | undefined> {
    if (!this.#modules.includes(module)) return undefined;
    try {
      return await readFile(join(this.#directory, "servers", module, "index.ts"), "utf8");
    } catch {
      return undefined;
    }
  }
}
