import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { RUNTIME_DECLARATIONS } from "../codegen/print-runtime.ts";
import { markUnavailable } from "../execution/declared-tools.ts";
import type { CheckedModules } from "../execution/type-check.ts";
import type { Configuration } from "./configuration/configuration.ts";

/** The folder of generated modules: beside the configuration file, wherever ptc was started. */
export function generatedDirectory(configuration: Configuration): string {
  return join(configuration.directory, "generated");
}

/** The modules that `ptc generate` wrote, for the servers in use. Their texts say which tools programs may not call. */
export class GeneratedModules implements CheckedModules {
  readonly declarations = RUNTIME_DECLARATIONS;
  readonly #directory: string;
  readonly #modules: readonly string[];
  readonly #isAvailable: (namespacedName: string) => boolean;

  constructor(
    directory: string,
    modules: readonly string[],
    isAvailable: (namespacedName: string) => boolean,
  ) {
    this.#directory = directory;
    this.#modules = [...modules].sort();
    this.#isAvailable = isAvailable;
  }

  modules(): readonly string[] {
    return this.#modules;
  }

  async load(module: string): Promise<string | undefined> {
    if (!this.#modules.includes(module)) return undefined;
    try {
      const text = await readFile(join(this.#directory, "servers", module, "index.ts"), "utf8");
      return markUnavailable(text, this.#isAvailable);
    } catch {
      return undefined;
    }
  }
}
