import type { GeneratedModule } from "../codegen/language-printer.ts";

/** A program that other programs can call, with its text. */
export interface SavedProgram {
  /** The name of its tool: `mcp__programs__<name>`. */
  readonly tool: string;
  /** Its name in errors: `programs/<file>`. */
  readonly fileName: string;
  readonly language: string;
  readonly code: string;
  /** The JSON schema of its value, as JSON text. Absent if the manifest has none. */
  readonly output?: string | undefined;
}

/** The name in the archive of the schema of a saved program's value, by the program's file. */
export function outputFile(fileName: string): string {
  return fileName.replace(/\.[a-z]+$/, ".output.json");
}

/** The texts of saved programs. */
export interface SavedSources {
  /** A program by the namespaced name of its tool. `undefined` if there is none, or its text cannot be read. */
  load(tool: string): Promise<SavedProgram | undefined>;
  /** Programs of other languages, which programs of this language cannot call, by the names that their functions would have. */
  readonly others?: readonly OtherProgram[];
}

/** A saved program in another language. */
export interface OtherProgram {
  readonly identifier: string;
  readonly fileName: string;
  /** The name of its language for people. */
  readonly title: string;
}

/** The generated modules that a program may import, by server module. */
export interface ModuleSource {
  /** The names of the server modules that exist, sorted. */
  modules(): readonly string[];
  /** A server's module, or `undefined` if there is none. */
  load(module: string): Promise<GeneratedModule | undefined>;
  /** Loads a module for looking something up. It does not count as used by the program. If absent, `load` takes its place. */
  peek?(module: string): Promise<GeneratedModule | undefined>;
  /** Called with each server's module that a program certainly names, as soon as that is known. */
  readonly named?: ((module: string) => void) | undefined;
  /** Whether the modules come from the record of a run, so that generating would not add any. */
  readonly isRecord?: boolean;
  /** Why the tools of servers cannot be called now, by module. Absent if all can. */
  readonly unlisted?: ReadonlyMap<string, string> | undefined;
  /** The texts of saved programs, whose functions are those of the module `programs`. Absent if there are none. */
  readonly saved?: SavedSources | undefined;
}

/** Forwards modules, and keeps the text of each module that was loaded. */
export class UsedModules implements ModuleSource {
  readonly #used = new Map<string, GeneratedModule>();
  readonly #source: ModuleSource;
  readonly #programs = new Map<string, SavedProgram>();
  readonly saved: SavedSources | undefined;
  readonly named: ModuleSource["named"];

  /** @param named receives the modules that the program names. */
  constructor(source: ModuleSource, named?: ModuleSource["named"]) {
    this.#source = source;
    this.named = named;
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

  get unlisted(): ReadonlyMap<string, string> | undefined {
    return this.#source.unlisted;
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

  /** The texts of the saved programs that were loaded. */
  savedTexts(): string[] {
    return [...this.#programs.values()].map(({ code }) => code);
  }

  /** The texts of loaded modules by server module, and of saved programs by their files, for the archive. */
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
