import type { Warning } from "../catalog/parse-tool.ts";
import type { Tool } from "../catalog/tool.ts";
import type { ServerModel } from "../catalog/tool-model.ts";
import type { NamedTool } from "../protocol/tool-names.ts";

/** What a printer shows of a tool. */
export type ShownTool = Omit<Tool, "namespacedName" | "server" | "definitionDigest">;

/** The call of a worked example. */
export interface ExampleCall {
  readonly module: string;
  readonly tool: Pick<ShownTool, "name" | "identifier">;
  /** The argument that it needs, a text; `""` where it needs none. */
  readonly argument: string;
}

/** What a model reads about programs in a language, before it writes one. */
export interface ProgramGuide {
  /** The language that signatures are in. */
  readonly signatures: string;
  /** The languages that programs may be in, before "program". */
  readonly programs: string;
  /** How a program gives something back, after "what it". */
  readonly givesBack: string;
  /** What a program can do besides, as the beginning of a sentence. */
  readonly abilities: string;
  /** Every way to call a tool, in Markdown, on one line. */
  readonly calls: string;
  /**
   * A whole program that makes a call more than once, and prints a little of what comes back.
   *
   * @returns `undefined` where the names of the call would stand in each other's way.
   */
  example(call: ExampleCall): string | undefined;
  /** Sentences about functions, failures and types. */
  readonly rules: string;
  /** A call of the function that asks a model, where one is configured, in Markdown. */
  readonly extract: string;
  /** What is different where another language is the usual one, in a sentence or two. */
  readonly brief: string;
}

/** How a tool is shown to a model or a person who writes programs in a language. */
export interface ToolPrinter {
  /** The name by which a program chooses the language. */
  readonly language: string;
  readonly guide: ProgramGuide;
  /** The signature of a tool's function: with every description, or compact, with the first sentence of the tool's description. */
  signature(tool: ShownTool, form: "full" | "compact"): Promise<string>;
  /** The line with which a program imports a server's module. */
  importLine(module: string): string;
  /** The name of a tool's function. */
  functionName(tool: Pick<ShownTool, "name" | "identifier">): string;
}

/** Prints the modules of a language, and reads them back. */
export interface LanguagePrinter extends ToolPrinter {
  /** The version of the printer. It changes whenever the same definitions would give another module. */
  readonly generator: string;
  /**
   * Names the functions of a server's tools, by protocol name. The names are distinct and do not depend on the order of
   * tools. Those of the first printer are the catalog's; others make theirs of them.
   *
   * @param previous names that were given before, which are kept.
   */
  nameFunctions(tools: readonly string[], previous?: ReadonlyMap<string, string>): Map<string, string>;
  /** How editors find the modules. */
  readonly editor?: EditorSetup;
  /** The path of a server's module in the output folder. */
  modulePath(module: string): string;
  /** The text of a server's module. What cannot be typed is `any`, with a warning. */
  printModule(server: ServerModel): Promise<{ text: string; warnings: Warning[] }>;
  /** The file under which programs import saved programs, whose functions are those of the module `programs`. */
  readonly savedPrograms: { readonly path: string; readonly text: string };
  /** The files that all modules share, by path in the output folder. */
  printShared(tools: readonly NamedTool[]): ReadonlyMap<string, string>;
  /**
   * Reads a module that was printed or archived.
   *
   * @param callable namespaced names of the tools that programs may call; by default as marked in the text.
   */
  readModule(module: string, text: string, callable?: ReadonlySet<string>): GeneratedModule;
}

/** A tool as its generated module declares it. */
export interface DeclaredTool extends NamedTool {
  /** Name of the type of its argument, as the module declares it. */
  input: string;
  /** Name of the type of what it returns. */
  output: string;
  /** Whether that type was observed and not declared: what contradicts it may be right. */
  isObserved: boolean;
  /** Whether it returns what its server wraps as `{result: ...}`. */
  isUnwrapped: boolean;
  /**
   * Its properties, by the names of the parameters that stand for them, where a language has named parameters and a property's
   * name cannot be one.
   */
  parameters?: Readonly<Record<string, string>>;
  /** Whether programs may call it. */
  isAvailable: boolean;
  /** Where the module's text declares it, in UTF-16 code units. */
  start: number;
  end: number;
  /** Its signature on one line, without comments, cut where it is very long. */
  signature(): string;
}

/** A server's generated module, with what is known of its tools. */
export interface GeneratedModule {
  /** Its source. */
  text: string;
  /** Its tools, in the order of the text. */
  tools: readonly DeclaredTool[];
  /** The text as it is archived: it says itself which tools programs may not call. */
  archived: string;
}

/** A file by which editors know a folder. */
interface EditorFile {
  name: string;
  text: string;
  /** What it holds where it is JSON, with comments or without; else `undefined`. */
  json: unknown;
}

/** How editors find the modules of a language from programs beside the output folder. */
export interface EditorSetup {
  /** The names of files by which editors know a folder of programs. The first is ptc's to write where there is none. */
  readonly files: readonly [string, ...string[]];
  /** The file of settings in the output folder, which is among the printer's shared files. */
  readonly settings: string;
  /**
   * The paths that a file leads editors to, relative to its folder; `undefined` for a file that has no settings of editors for
   * this language.
   */
  paths(file: EditorFile): readonly unknown[] | undefined;
  /**
   * What to add to a user's file that does not lead to the modules.
   *
   * @param settings the path of the settings, as messages name it.
   */
  advice(settings: string): string;
}
