import type { GeneratedModule } from "../codegen/language-printer.ts";

/** A program that other programs can call, with its text. */
export interface SavedProgram {
  /** The tool that stands for it: `mcp__programs__<name>`. */
  readonly tool: string;
  /** What errors call it: `programs/<file>`. */
  readonly fileName: string;
  readonly language: string;
  readonly code: string;
  /** JSON schema of its value, as JSON text; absent where the manifest has none. */
  readonly output?: string | undefined;
}

/** What the archive calls the schema of the value of a saved program, by the program's file. */
export function outputFile(fileName: string): string {
  return fileName.replace(/\.[a-z]+$/, ".output.json");
}

/** The texts of saved programs. */
export interface SavedSources {
  /** A program by the namespaced name of its tool; `undefined` when there is none, or its text cannot be read. */
  load(tool: string): Promise<SavedProgram | undefined>;
  /** Those of other languages, which no program of this language can call, by the names that their functions would have. */
  readonly others?: readonly OtherProgram[];
}

/** A saved program in another language. */
export interface OtherProgram {
  readonly identifier: string;
  readonly fileName: string;
  /** What people call its language. */
  readonly title: string;
}

/** The generated modules that a program may import, by server module. */
export interface ModuleSource {
  /** The names of the server modules that exist, sorted. */
  modules(): readonly string[];
  /** A server's module; `undefined` when there is none. */
  load(module: string): Promise<GeneratedModule | undefined>;
  /** Loads a module to look something up in it. It does not count as one that the program uses. As `load` where absent. */
  peek?(module: string): Promise<GeneratedModule | undefined>;
  /** Is told of each server's module that a program names for certain, as soon as that is known. Absent where nobody asks. */
  readonly named?: ((module: string) => void) | undefined;
  /** Whether these are only what the record of a run holds, so that generating would add nothing to them. */
  readonly isRecord?: boolean;
  /** The texts of saved programs, whose functions are those of the module `programs`. Absent where there are none. */
  readonly saved?: SavedSources | undefined;
}

/** Passes modules on, and remembers the text of each that was loaded. */
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
