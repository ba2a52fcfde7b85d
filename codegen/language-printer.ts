import type { Warning } from "../catalog/parse-tool.ts";
import type { Tool } from "../catalog/tool.ts";
import type { ServerModel } from "../catalog/tool-model.ts";
import type { NamedTool } from "../protocol/tool-names.ts";

/** The parts of a tool that a printer uses. */
export type ShownTool = Omit<Tool, "namespacedName" | "server" | "definitionDigest">;

/** The call in a worked example. */
export interface ExampleCall {
  readonly module: string;
  readonly tool: Pick<ShownTool, "name" | "identifier">;
  /** The name of its required text argument, or `""` if it needs none. */
  readonly argument: string;
}

/** The text that a model reads about programs in a language before it writes one. */
export interface ProgramGuide {
  /** The language that signatures are in. */
  readonly signatures: string;
  /** The languages of programs, as a phrase before "program". */
  readonly programs: string;
  /** How a program returns something, as a phrase after "what it". */
  readonly givesBack: string;
  /** Other abilities of a program, as the beginning of a sentence. */
  readonly abilities: string;
  /** Every way to call a tool, in Markdown, on one line. */
  readonly calls: string;
  /**
   * A whole program that makes a call more than once, and prints a part of the results.
   *
   * @returns `undefined` if names in the program would collide.
   */
  example(call: ExampleCall): string | undefined;
  /** Sentences about functions, failures and types. */
  readonly rules: string;
  /** A call of the function that asks a model, if one is configured, in Markdown. */
  readonly extract: string;
  /** The differences to another, usual language, in a sentence or two. */
  readonly brief: string;
}

/** Shows tools to models and people who write programs in a language. */
export interface ToolPrinter {
  /** The name that selects the language. */
  readonly language: string;
  readonly guide: ProgramGuide;
  /** The signature of a tool's function. `full` has every description, and `compact` the first sentence of the tool's description. */
  signature(tool: ShownTool, form: "full" | "compact"): Promise<string>;
  /** The line that imports a server's module. */
  importLine(module: string): string;
  /** The name of a tool's function. */
  functionName(tool: Pick<ShownTool, "name" | "identifier">): string;
}

/** Prints and reads the modules of a language. */
export interface LanguagePrinter extends ToolPrinter {
  /** The version of the printer. It must change whenever the same definitions would give another module. */
  readonly generator: string;
  /**
   * Names the functions of a server's tools, by protocol name. The names are distinct and do not depend on the order of
   * tools. The catalog has the names of the first printer, from which other printers derive theirs.
   *
   * @param previous earlier names, which are kept.
   */
  nameFunctions(tools: readonly string[], previous?: ReadonlyMap<string, string>): Map<string, string>;
  /** How editors find the modules. */
  readonly editor?: EditorSetup;
  /** The path of a server's module in the output folder. */
  modulePath(module: string): string;
  /** Prints a server's module. Types that cannot be printed become `any`, with a warning. */
  printModule(server: ServerModel): Promise<{ text: string; warnings: Warning[] }>;
  /** The file from which programs import saved programs. Its functions are those of the module `programs`. */
  readonly savedPrograms: { readonly path: string; readonly text: string };
  /** The files that all modules share, by path in the output folder. */
  printShared(tools: readonly NamedTool[]): ReadonlyMap<string, string>;
  /**
   * Reads a module that was printed or archived.
   *
   * @param callable namespaced names of the tools that programs may call. By default, the marks in the text decide.
   */
  readModule(module: string, text: string, callable?: ReadonlySet<string>): GeneratedModule;
}

/** A tool as its generated module declares it. */
export interface DeclaredTool extends NamedTool {
  /** The name of its argument's type in the module. */
  input: string;
  /** The name of its result's type in the module. */
  output: string;
  /** Whether that type was observed and not declared. A contradicting value may be correct. */
  isObserved: boolean;
  /** Whether it returns the value inside its server's wrapper `{result: ...}`. */
  isUnwrapped: boolean;
  /**
   * Its properties, by the names of their parameters, for languages with named parameters, where a property's name cannot always
   * be a parameter's name.
   */
  parameters?: Readonly<Record<string, string>>;
  /** Whether programs may call it. */
  isAvailable: boolean;
  /** The start of its declaration in the module's text, in UTF-16 code units. */
  start: number;
  end: number;
  /** Its signature on one line, without comments, cut if it is very long. */
  signature(): string;
}

/** A server's generated module, with the declarations of its tools. */
export interface GeneratedModule {
  /** Its source. */
  text: string;
  /** Its tools, in the order of the text. */
  tools: readonly DeclaredTool[];
  /** The text for the archive, which marks the tools that programs may not call. */
  archived: string;
}

/** A file that configures editors for a folder. */
interface EditorFile {
  name: string;
  text: string;
  /** Its content if it is JSON, with or without comments, or else `undefined`. */
  json: unknown;
}

/** How editors find the modules of a language from programs beside the output folder. */
export interface EditorSetup {
  /** The names of files that configure editors for a folder of programs. ptc writes the first one if there is none. */
  readonly files: readonly [string, ...string[]];
  /** The file of settings in the output folder, which is one of the printer's shared files. */
  readonly settings: string;
  /**
   * The paths that a file gives to editors, relative to its folder. `undefined` for a file without editor settings for this
   * language.
   */
  paths(file: EditorFile): readonly unknown[] | undefined;
  /**
   * Advice for a user's file that does not lead to the modules.
   *
   * @param settings the path of the settings in messages.
   */
  advice(settings: string): string;
}
