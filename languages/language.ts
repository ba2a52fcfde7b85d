import type { Failure } from "../protocol/failure.ts";
import type { OnPhase } from "../protocol/run-context.ts";
import type { RunnerName, RunnerStart } from "../protocol/runners.ts";
import type { FailureReason } from "./failure-reason.ts";
import type { ModuleSource } from "./module-source.ts";
import type { Program } from "./program.ts";

/** The effect of type mistakes: the program does not run, or runs with a warning, or its types are not checked. */
export type TypecheckMode = "error" | "warn" | "off";

/** How the types of a program are checked. */
export interface TypecheckOptions {
  mode: TypecheckMode;
  /** How long the program waits for its check, in milliseconds, before it runs unchecked; without it, as its language has it. */
  patienceMs?: number | undefined;
}

/** The facts of a language that are available without loading its bundler and type checker. */
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
  readonly ways: { readonly output: string; readonly value: string };
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

/** How a program ended that ran. */
export type EndedProgram =
  | { ok: false; error: Failure }
  /** `isEmpty` when neither a result nor a console line came of it, and nothing was emitted. */
  | { ok: true; consoleText: string; isEmpty: boolean };

/** A language that programs are written in. */
export interface Language extends LanguageFacts {
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

/** The language with this name. */
export function findLanguage<Known extends LanguageFacts>(
  languages: readonly Known[],
  name: string,
): Known | undefined {
  return languages.find(({ names }) => names.includes(name));
}
