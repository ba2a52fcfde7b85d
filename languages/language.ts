import type { LanguagePrinter } from "../codegen/language-printer.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Platform } from "../protocol/platform.ts";
import type { OnPhase } from "../protocol/run-context.ts";
import type { RunnerName, RunnerStart } from "../protocol/runners.ts";
import type { ModuleSource } from "./module-source.ts";
import type { Program } from "./program.ts";
import type { ToolAnswer } from "./tool-answers.ts";

/** The effect of type mistakes: the program does not run, or runs with a warning, or its types are not checked. */
export type TypecheckMode = "error" | "warn" | "off";

/** How the types of a program are checked. */
export interface TypecheckOptions {
  mode: TypecheckMode;
  /** How long the program waits for its check, in milliseconds, before it runs unchecked. By default its language decides. */
  patienceMs?: number | undefined;
  /** What the program will find around it; Node.js by default. */
  platform?: Platform | undefined;
}

/** The facts about a language that need no loading. */
export interface LanguageFacts {
  /** The name for people. */
  readonly title: string;
  /** The possible languages of programs if it is the only language: `TypeScript or JavaScript`. */
  readonly offers: string;
  /** The names that select this language. */
  readonly names: readonly string[];
  /** Language names by the suffix of a program file, such as `.ts`. */
  readonly suffixes: Readonly<Record<string, string>>;
  /** Language names by the interpreter after `#!` in the first line of a program. */
  readonly interpreters: Readonly<Record<string, string>>;
  /** The language and file name of a program without a file. */
  readonly unnamed: { readonly language: string; readonly fileName: string };
  /** The function with which a program prints, and the variable that it sets to its value. */
  readonly idioms: { readonly output: string; readonly value: string };
  /** The name of the runner for its programs in a sandbox's hello. */
  readonly runner: RunnerName;
  /** How a sandbox starts that runner. */
  readonly start: RunnerStart;
  /** The text of a program that runs a saved program of this language on `data` and returns its value. */
  callSaved(called: SavedCall): string;
}

/** A saved program that another calls. */
interface SavedCall {
  name: string;
  /** The names of its function in camelCase, and of its tool in snake_case. */
  functionName: string;
  toolName: string;
  /** Its text, and the digest that identifies its version. */
  code: string;
  digest: string;
}

/** The result of preparing a program. Messages and reasons quote the program and may contain secrets. */
export type Preparation =
  /**
   * `bundle` is sent to the runner. `warning` describes type mistakes that do not stop the program. `unchecked` says why its types
   * could not be checked. `hints` describe contradictions to the results observed so far, which may be correct.
   */
  | { ok: true; bundle: string; warning?: string; unchecked?: string; hints?: readonly string[] }
  | {
      ok: false;
      type: "BundleError" | "TypeCheckError";
      message: string;
      /** Why the program cannot be bundled, as data. */
      reasons: readonly FailureReason[];
    };

/** The outcome of checking a program's types. */
export type TypeCheckOutcome =
  /** `hints` is for a model: contradictions to the results observed so far, one line each. */
  | { kind: "clean"; hints?: readonly string[] }
  /** `message` is for a model: places, lines, mistakes, and what is expected. */
  | { kind: "errors"; message: string; count: number }
  /** The program could not be checked, for reasons other than its types. */
  | { kind: "unchecked"; reason: string };

/** The preparation of a bundled program after its check. @param checked `undefined` if its types were not checked. */
export function afterCheck(
  bundle: string,
  checked: TypeCheckOutcome | undefined,
  mode: TypecheckMode,
): Preparation {
  if (checked?.kind === "unchecked") return { ok: true, bundle, unchecked: checked.reason };
  if (checked?.kind !== "errors")
    return checked?.hints?.length ? { ok: true, bundle, hints: checked.hints } : { ok: true, bundle };
  const { message } = checked;
  if (mode === "warn") return { ok: true, bundle, warning: message };
  return { ok: false, type: "TypeCheckError", message, reasons: [] };
}

/** The end of a program that ran. `answers` are the last answers of the tools that it called. By default, it ran on `node`. */
export type EndedProgram = { answers?: readonly ToolAnswer[]; platform?: Platform | undefined } & (
  | { ok: false; error: Failure }
  /** `isEmpty` if it gave neither a result nor a console line, and emitted nothing. `data` is its result. */
  | { ok: true; consoleText: string; isEmpty: boolean; data?: unknown }
);

/** A language as registered in languages.ts: its facts, and functions that load the rest. */
export interface RegisteredLanguage extends LanguageFacts {
  /** The highlighting of its text on pages. */
  readonly syntax: CodeSyntax;
  /** Loads the printer of the modules that its programs import. */
  loadPrinter(): Promise<LanguagePrinter>;
  /** Why this machine cannot check its programs before they run, and what to do, or `undefined` if it can. */
  whyUnchecked(): Promise<string | undefined>;
  open(processes: LanguageProcesses): Promise<LanguageService>;
}

/** Options for the processes that a language starts. */
export interface LanguageProcesses {
  /** Receive each process's start and end, so that a later ptc can end it if this one is killed. */
  onSpawn?(pid: number): void;
  onExit?(pid: number): void;
  /** The folder for files of such processes, which a later ptc clears. By default, the system's temporary folder. */
  folder?: string | undefined;
}

/** An opened language. */
export interface Language extends LanguageFacts, LanguageService {}

/** The operations of a language on programs. */
export interface LanguageService {
  /**
   * Whether a text has signs of this language that are unlikely to occur by chance. Cheap, but not a proof: texts of other
   * languages can contain such signs.
   */
  looksLike(code: string): boolean;
  /** Whether a text can be in this language, as far as the host can check its syntax. Never rejects. */
  accepts(code: string): Promise<boolean>;
  /**
   * Bundles and checks a program. Reads only `modules` from the host.
   *
   * @param earlier the earlier programs of its session, or `undefined` if it runs in no session.
   */
  prepare(
    program: Program,
    modules: ModuleSource,
    check: TypecheckOptions,
    onPhase?: OnPhase,
    earlier?: readonly Program[],
  ): Promise<Preparation>;
  /**
   * Advice on a program that ran: on its failure, or on a value that was lost although it succeeded. One line each, which may
   * quote the program and contain secrets. Never rejects.
   */
  advise(program: Program, ended: EndedProgram, modules: ModuleSource): Promise<string[]>;
  /** Prepares for the first program in advance, so that it need not wait. Never rejects. */
  warm(): Promise<void>;
  /** Ends the processes of the language, even if they are busy. Never rejects. */
  close(): Promise<void>;
}

/** Opens a language. */
export async function openLanguage(
  registered: RegisteredLanguage,
  processes: LanguageProcesses = {},
): Promise<Language> {
  return { ...registered, ...(await registered.open(processes)) };
}

/** The language with this name. */
export function findLanguage<Known extends LanguageFacts>(
  languages: readonly Known[],
  name: string,
): Known | undefined {
  return languages.find(({ names }) => names.includes(name));
}

/**
 * Why a program cannot run, as data, for code that adds advice to the failure's message. It is not part of the envelope, which
 * contains only the message.
 */
export type FailureReason =
  /** The program's text cannot be bundled. */
  | { code: "invalid_text" }
  /** It could not be bundled in time. A less busy machine may manage. */
  | { code: "out_of_time" }
  | { code: "top_level_return" }
  /** It looks like a program in the named language. */
  | { code: "other_language"; language: string }
  /** It imports the module of a server that does not exist or has no module. */
  | { code: "unknown_server"; module: string }
  /** It imports something other than a server's module or a module of Node.js. */
  | { code: "unknown_import"; path: string }
  /** It imports a name that the server's module does not export. */
  | { code: "unknown_export"; module: string; name: string }
  /** It imports a server's module that is missing or was edited. */
  | { code: "missing_module"; module: string }
  /** It imports a server's module that cannot be bundled. */
  | { code: "broken_module"; module: string };

/**
 * The highlighting of a language's text, as sources of regular expressions. Each matches at least one character and cannot
 * backtrack, so that any text takes linear time.
 */
export interface CodeSyntax {
  readonly comment: string;
  readonly string: string;
  /** Words, separated by spaces. */
  readonly keywords: string;
}
