import { registerHooks } from "node:module";

/** Imports modules whose text is in memory. Under gVisor that takes a quarter of the time of a module in a file. */
export class ModulesInMemory {
  readonly #texts = new Map<string, string>();
  readonly #hooks = registerHooks({
    resolve: (specifier, context, next) =>
      this.#texts.has(specifier)
        ? { url: specifier, format: "module", shortCircuit: true }
        : next(specifier, context),
    load: (url, context, next) => {
      const source = this.#texts.get(url);
      return source === undefined ? next(url, context) : { format: "module", source, shortCircuit: true };
    },
  });

  /** Imports a module under a URL of its own. Node.js loads it before this returns, and evaluates it later. */
  import(url: string, text: string): Promise<unknown> {
    this.#texts.set(url, text);
    try {
      return import(url);
    } finally {
      this.#texts.delete(url);
    }
  }

  /** As `import`. What this module itself imports is Node.js's own business again. */
  importLast(url: string, text: string): Promise<unknown> {
    try {
      return this.import(url, text);
    } finally {
      this.#hooks.deregister();
    }
  }
}
