import { toolNameOf } from "../catalog/program-name.ts";
import type { GeneratedModule, LanguagePrinter } from "../codegen/language-printer.ts";
import { languageOfFile } from "../languages/languages.ts";
import {
  type ModuleSource,
  outputFile,
  type SavedProgram,
  type SavedSources,
} from "../languages/module-source.ts";
import { namespacedName, PROGRAMS_MODULE } from "../protocol/tool-names.ts";

/** The prefix that marks saved programs among the modules of `UsedModules`. */
const PROGRAM_FILES = `${PROGRAMS_MODULE}/`;

/** The modules of a recorded run. Their texts still state which tools the program was not allowed to call. */
export class RecordedModules implements ModuleSource {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #known: readonly string[];
  readonly #printer: LanguagePrinter;
  /** The texts of the saved programs that ran. */
  readonly saved: SavedSources | undefined;

  /** @param known the names of all modules that existed; by default those whose texts were archived. */
  constructor(texts: ReadonlyMap<string, string>, printer: LanguagePrinter, known: readonly string[] = []) {
    this.#printer = printer;
    this.#texts = texts;
    const programs = [...texts].filter(([file]) => file.startsWith(PROGRAM_FILES));
    const modules = [...texts.keys()].filter((name) => !name.startsWith(PROGRAM_FILES));
    this.#known = [...new Set([...known, ...modules])].sort();
    this.saved = programs.length === 0 ? undefined : recordedPrograms(new Map(programs));
  }

  modules(): readonly string[] {
    return this.#known;
  }

  async load(module: string): Promise<GeneratedModule | undefined> {
    const text = this.#texts.get(module);
    return text === undefined ? undefined : this.#printer.readModule(module, text);
  }

  /** Only the modules whose texts the record holds, for a program that the record does not know. */
  held(): ModuleSource {
    return {
      isRecord: true,
      modules: () => [...this.#texts.keys()].filter((name) => !name.startsWith(PROGRAM_FILES)).sort(),
      load: (module) => this.load(module),
      saved: this.saved,
    };
  }
}

/** Reads the saved programs of a record from texts by file name. */
function recordedPrograms(texts: ReadonlyMap<string, string>): SavedSources {
  const programs = new Map<string, SavedProgram>();
  for (const [fileName, code] of texts) {
    const name = fileName.slice(PROGRAM_FILES.length).replace(/\.[a-z]+$/, "");
    const tool = namespacedName(PROGRAMS_MODULE, toolNameOf(name));
    const language = languageOfFile(fileName);
    const output = texts.get(outputFile(fileName));
    if (language !== undefined) programs.set(tool, { tool, fileName, language, code, output });
  }
  return { load: async (tool) => programs.get(tool) };
}
