import type { GeneratedModule } from "../codegen/generated-module.ts";
import { type ModuleSource, outputFile, type SavedProgram, type SavedSources } from "./module-source.ts";

/** Passes modules on, and remembers the text of each that was loaded. */
export class UsedModules implements ModuleSource {
  readonly #used = new Map<string, GeneratedModule>();
  readonly #source: ModuleSource;
  readonly #programs = new Map<string, SavedProgram>();
  readonly saved: SavedSources | undefined;

  constructor(source: ModuleSource) {
    this.#source = source;
    const { saved } = source;
    this.saved = saved && {
      ...saved,
      load: async (tool) => {
        const known = this.#programs.get(tool) ?? (await saved.load(tool));
        if (known !== undefined) this.#programs.set(tool, known);
        return known;
      },
    };
  }

  modules(): readonly string[] {
    return this.#source.modules();
  }

  get isRecord(): boolean {
    return this.#source.isRecord ?? false;
  }

  async peek(module: string): Promise<GeneratedModule | undefined> {
    return this.#used.get(module) ?? (await this.#source.load(module));
  }

  async load(module: string): Promise<GeneratedModule | undefined> {
    const known = this.#used.get(module);
    if (known !== undefined) return known;
    const loaded = await this.#source.load(module);
    if (loaded !== undefined) this.#used.set(module, loaded);
    return loaded;
  }

  /** The texts of the loaded modules by server module, and those of saved programs by their files, for the archive. */
  archived(): Map<string, string> {
    return new Map([
      ...[...this.#used].map(([module, { archived }]) => [module, archived] as const),
      ...[...this.#programs.values()].flatMap(({ fileName, code, output }) => [
        [fileName, code] as const,
        ...(output === undefined ? [] : [[outputFile(fileName), output] as const]),
      ]),
    ]);
  }
}
