import type { CheckedModules } from "./type-check.ts";

/** Passes modules on, and remembers those that were used as they were. */
export class UsedModules implements CheckedModules {
  readonly used = new Map<string, string>();
  readonly #source: CheckedModules;

  constructor(source: CheckedModules) {
    this.#source = source;
  }

  get declarations(): string {
    return this.#source.declarations;
  }

  modules(): readonly string[] {
    return this.#source.modules();
  }

  async load(module: string): Promise<string | undefined> {
    const known = this.used.get(module);
    if (known !== undefined) return known;
    const text = await this.#source.load(module);
    if (text !== undefined) this.used.set(module, text);
    return text;
  }
}
