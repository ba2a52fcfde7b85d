import type { LanguagePrinter } from "../codegen/language-printer.ts";
import type { Failure } from "../protocol/failure.ts";
import type { OnPhase } from "../protocol/run-context.ts";
import type { RunnerName, RunnerStart } from "../protocol/runners.ts";
import type { ModuleSource } from "./module-source.ts";
import type { Program } from "./program.ts";

/** The effect of type mistakes: the program does not run, or runs with a warning, or its types are not checked. */
export type TypecheckMode = "error" | "warn" | "off";

/** How the types of a program are checked. */
export interface TypecheckOptions {
  mode: TypecheckMode;
  /** How long the program waits for its check, in milliseconds, before it runs unchecked. By default its language decides. */
  patienceMs?: number | undefined;
}

/** What is known of a language without loading anything. */
export interface LanguageFacts {
  /** What people call it. */
  readonly title: string;
  /** What programs may be, where it is the only language: `TypeScript or JavaScript`. */
  readonly offers: string;
  /** The names by which a program may choose this language. */
  readonly names: readonly string[];
  /** Language names by the suffix of a program file, such as `.ts`. */
  readonly suffixes: Readonly<Record<string, string>>;
  /** Language names by the interpreter that the first line of a program may name after `#!`. */
  readonly interpreters: Readonly<Record<string, string>>;
  /** Language and file name of a program that is handed in without a file. */
  readonly unnamed: { readonly language: string; readonly fileName: string };
  /** What a program prints its output with, and what it sets for its value. */
  readonly idioms: { readonly output: string; readonly value: string };
  /** The name of the runner for its programs, as a sandbox's hello gives it. */
  readonly runner: RunnerName;
  /** How a sandbox starts that runner. */
  readonly start: RunnerStart;
  /** The text of a program that runs a saved program of this language on `data`, and gives back what that gives. */
  callSaved(called: SavedCall): string;
}

/** A saved program that another calls. */
interface SavedCall {
  name: string;
  /** What its name is as that of a function, in camelCase, and as that of a tool, in snake_case. */
  functionName: string;
  toolName: string;
  /** Its text, and the digest that tells one version of it from another. */
  code: string;
  digest: string;
}

/** The result of preparing a program. Messages and reasons quote the program and may hold secrets. */
export type Preparation =
  /**
   * `bundle` is sent to the runner. `warning` describes type mistakes that do not stop the program, `unchecked` says why its
   * types could not be checked. `hints` say what contradicts results as they were observed so far, which may be right.
   */
  | { ok: true; bundle: string; warning?: string; unchecked?: string; hints?: readonly string[] }
  | {
      ok: false;
      type: "BundleError" | "TypeCheckError";
      message: string;
      /** Why the program cannot be bundled, as data. */
      reasons: readonly FailureReason[];
    };

/** What is known of a program's types. */
export type TypeCheckOutcome =
  /** `hints` is for a model: what contradicts results as they were observed so far, one line each. */
  | { kind: "clean"; hints?: readonly string[] }
  /** `message` is for a model: places, lines, what is wrong and what is expected. */
  | { kind: "errors"; message: string; count: number }
  /** The program could not be checked, for reasons other than its types. */
  | { kind: "unchecked"; reason: string };

/** What becomes of a program that is bundled. @param checked `undefined` where its types are not checked. */
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

/** How a program ended that ran. */
export type EndedProgram =
  | { ok: false; error: Failure }
  /** `isEmpty` when neither a result nor a console line came of it, and nothing was emitted. */
  | { ok: true; consoleText: string; isEmpty: boolean };

/** A language as it registers itself in languages.ts: its facts, and how what it needs is loaded. */
export interface RegisteredLanguage extends LanguageFacts {
  /** What has a colour in its text on pages. */
  readonly syntax: CodeSyntax;
  /** What prints the modules that its programs import. */
  loadPrinter(): Promise<LanguagePrinter>;
  /** Why its programs are not checked before they run on this machine, and what to do; `undefined` where they are. */
  whyUnchecked(): Promise<string | undefined>;
  open(processes: LanguageProcesses): Promise<LanguageService>;
}

/** What a language does with the processes that it starts. */
export interface LanguageProcesses {
  /** Receive each process's start and end, so that a later ptc can end it if this one is killed. */
  onSpawn?(pid: number): void;
  onExit?(pid: number): void;
  /** Where the files of such processes are kept, which a later ptc clears too. Defaults to the system's folder for such files. */
  folder?: string | undefined;
}

/** A language that is in use. */
export interface Language extends LanguageFacts, LanguageService {}

/** What a language does with programs. */
export interface LanguageService {
  /**
   * Whether a text has signs of this language that it would hardly have by chance. Cheap, and no proof: other languages have
   * texts that hold such signs.
   */
  looksLike(code: string): boolean;
  /** Whether a text can be one of this language, as far as its syntax can be read on the host. Never rejects. */
  accepts(code: string): Promise<boolean>;
  /**
   * Bundles and checks a program. Reads nothing of the host but `modules`.
   *
   * @param earlier the programs that ran before it in its session; `undefined` for one that runs in none.
   */
  prepare(
    program: Program,
    modules: ModuleSource,
    check: TypecheckOptions,
    onPhase?: OnPhase,
    earlier?: readonly Program[],
  ): Promise<Preparation>;
  /**
   * What to do about a program that ran: about its failure, or about a value that was lost although it succeeded. One line
   * each, which may quote the program and hold secrets. Never rejects.
   */
  advise(program: Program, ended: EndedProgram, modules: ModuleSource): Promise<string[]>;
  /** Starts in advance what the first program would otherwise wait for. Never rejects. */
  warm(): Promise<void>;
  /** Ends the processes of the language, even while they work. Never rejects. */
  close(): Promise<void>;
}

/** Loads what a language needs to work on programs. */
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
 * Why a program cannot be run, as data, for code that adds advice to the failure's message. It is not part of the envelope,
 * which carries only the message.
 */
export type FailureReason =
  /** The program's text cannot be bundled. */
  | { code: "invalid_text" }
  /** It could not be bundled in time, which a machine with less to do may manage. */
  | { code: "out_of_time" }
  | { code: "top_level_return" }
  /** It looks like a program in another language, of this name. */
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
 * What has a colour in a language's text, as sources of regular expressions. Each matches at least one character and cannot
 * backtrack, so any text takes linear time.
 */
export interface CodeSyntax {
  readonly comment: string;
  readonly string: string;
  /** Words, with a space between two. */
  readonly keywords: string;
}
