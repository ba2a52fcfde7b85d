import { messageOf } from "../../base/faults.ts";
import { inTime, orAborted, whenAborted } from "../../base/waiting.ts";
import { type Platform, WASM_ABSENT_GLOBALS } from "../../protocol/platform.ts";
import { duringPhase, type OnPhase } from "../../protocol/run-context.ts";
import { collectEarlier } from "../called-programs.ts";
import {
  afterCheck,
  type FailureReason,
  type LanguageProcesses,
  type LanguageService,
  type Preparation,
  type TypeCheckOutcome,
  type TypecheckOptions,
} from "../language.ts";
import type { ModuleSource } from "../module-source.ts";
import type { Program } from "../program.ts";
import { bundleProgram } from "./bundling/bundle.ts";
import { reduceToJavaScript } from "./bundling/bundler.ts";
import { bundleVerbatim } from "./bundling/verbatim-program.ts";
import { calledPrograms } from "./tool-names.ts";
import type { TypeCheckProcess } from "./type-check/type-check-process.ts";

/** A program whose preparation loads the parser in advance. */
const FIRST_PROGRAM: Program = {
  code: "globalThis.result = 1;",
  data: {},
  language: "javascript",
  fileName: "first.js",
};

/** Opens TypeScript and JavaScript. Programs are bundled into one module, and checked by TypeScript in a separate process. */
export function openTypeScript(processes: LanguageProcesses = {}): LanguageService {
  const typeChecker = createTypeChecker(processes);
  return {
    prepare: (program, modules, mode, onPhase, earlier) =>
      prepareTypeScript(program, modules, typeChecker, mode, onPhase, earlier),
    looksLike: looksLikeTypeScript,
    accepts: acceptsTypeScript,
    async advise(program, ended, modules) {
      const { adviseOnFailure, adviseOnSuccess } = await import("./advice.ts");
      if (ended.ok) return adviseOnSuccess(program, ended, modules);
      return adviseOnFailure(ended.error, program, modules, ended.answers).catch(() => []);
    },
    async warm() {
      await Promise.all([typeChecker.warm(), bundleVerbatim(FIRST_PROGRAM)]);
    },
    close: () => typeChecker.close(),
  };
}

/** Syntax that is typical of JavaScript. Programs can be long, so none of these patterns may backtrack. */
const SIGNS = [
  /^[ \t]*(?:export[ \t]+)?(?:const|let)[ \t]+[\w$[{]/m,
  /=>[ \t]*[{(\w]/,
  /\bconsole\.log\(/,
  /\bglobalThis\b/,
  /^import[ \t]+(?:\*|\{|type\b|["'])/m,
];

/** Matches the print function of other languages, which Node.js lacks. */
const PRINTS = /^[ \t]*print\(/m;
const DECLARES_PRINT = /\b(?:function|const|let|var)[ \t]+print\b|\bimport\b[^;\n]{0,200}\bprint\b/;

/** Whether a text has signs of TypeScript or JavaScript. */
function looksLikeTypeScript(code: string): boolean {
  return SIGNS.some((sign) => sign.test(code));
}

/** Whether a text has the syntax of TypeScript, and calls no function of other languages. Never rejects. */
async function acceptsTypeScript(code: string): Promise<boolean> {
  if (PRINTS.test(code) && !DECLARES_PRINT.test(code)) return false;
  try {
    await reduceToJavaScript(code, { loader: "ts", logLevel: "silent", target: "esnext" });
    return true;
  } catch {
    return false;
  }
}

/**
 * Bundles a program and checks its types at the same time. If only its imports are wrong, the failure has the messages of
 * both. If its text is wrong, the type check is ignored.
 */
async function prepareTypeScript(
  program: Program,
  modules: ModuleSource,
  typeChecker: TypeChecker,
  { mode, patienceMs, platform }: TypecheckOptions,
  onPhase?: OnPhase,
  earlier?: readonly Program[],
): Promise<Preparation> {
  // The check is about tools, so a program that mentions none is not checked.
  const mentions = [program, ...(earlier ?? [])].some(
    ({ code }) => mentionsTools(code) || (platform === "wasm" && mentionsAbsent(code)),
  );
  const checks = mode !== "off" && (mentions || program.savedAs !== undefined);
  const checking = checks
    ? duringPhase(onPhase, "type_check", () =>
        typeChecker.check(program, modules, earlier, patienceMs, platform),
      )
    : undefined;
  checking?.catch(() => {});
  // The functions of earlier programs are already in the sandbox. Loading them here starts their servers.
  if (earlier !== undefined) await collectEarlier(earlier, modules, calledPrograms);
  const bundled = await duringPhase(onPhase, "bundle", () =>
    bundleProgram(program, modules, { isInSession: earlier !== undefined, platform }),
  );
  if (!bundled.ok && bundled.subject === "text") return fail(bundled.message, bundled.reasons);
  const checked = await checking;
  const mistakes = checked?.kind === "errors" ? checked.message : undefined;
  if (!bundled.ok) {
    // The type check also reports missing exports, so the bundler's message would repeat them.
    const own = bundled.subject === "exports" && mistakes !== undefined ? [] : [bundled.message];
    return fail([...own, ...(mistakes === undefined ? [] : [mistakes])].join("\n"), bundled.reasons);
  }
  return afterCheck(bundled.bundle, checked, mode);
}

function mentionsTools(code: string): boolean {
  return /servers\/|["'/]programs["'/]|mcp__|callTool/.test(code);
}

const ABSENT = new RegExp(`\\b(?:${WASM_ABSENT_GLOBALS.join("|")})\\b`);

/** Whether a program may use something that Node.js has and an interpreter without it has not. */
function mentionsAbsent(code: string): boolean {
  return ABSENT.test(code);
}

function fail(message: string, reasons: readonly FailureReason[]): Preparation {
  return { ok: false, type: "BundleError", message, reasons };
}

export interface TypeChecker {
  /**
   * Finds mistakes that would fail at run time: wrong arguments of tools, wrong use of their results, and undefined names. Leaves
   * syntax and imports to the bundler. Checks run one at a time. Never rejects.
   *
   * @param earlier the earlier programs of its session, whose top-level names it can use.
   * @param patienceMs how long to wait, in milliseconds, instead of five seconds from when the check begins.
   * @param platform what the program will find around it; Node.js by default.
   */
  check(
    program: Program,
    modules: ModuleSource,
    earlier?: readonly Program[],
    patienceMs?: number,
    platform?: Platform,
  ): Promise<TypeCheckOutcome>;
  /** Prepares for the first check in advance. Never rejects. */
  warm(): Promise<void>;
  /** Ends the checker's process, even if it is busy. Never rejects. */
  close(): Promise<void>;
}

/** Longer programs are not checked. They mostly contain data, so checking takes long and finds nothing. */
const MAX_CHECKED_CHARS = 256 * 1024;
const START_LIMIT_MS = 15_000;
const CHECK_LIMIT_MS = 5_000;
/** The limit for the text of a saved program, which does not run after its check. */
const SAVED_LIMIT_MS = 60_000;

interface TypeCheckerOptions extends LanguageProcesses {
  checkLimitMs?: number;
}

/**
 * A type checker with one process of TypeScript. The process starts on first use, and again after it died or was killed because
 * a check exceeded its time limit.
 */
export function createTypeChecker(options: TypeCheckerOptions = {}): TypeChecker {
  return new ProcessTypeChecker(options);
}

class ProcessTypeChecker implements TypeChecker {
  readonly #checkLimitMs: number;
  readonly #processes: LanguageProcesses;
  #process: TypeCheckProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor({ checkLimitMs = CHECK_LIMIT_MS, ...processes }: TypeCheckerOptions) {
    this.#checkLimitMs = checkLimitMs;
    this.#processes = processes;
  }

  check(
    program: Program,
    modules: ModuleSource,
    earlier: readonly Program[] = [],
    patienceMs?: number,
    platform?: Platform,
  ): Promise<TypeCheckOutcome> {
    if (program.code.length > MAX_CHECKED_CHARS)
      return Promise.resolve({
        kind: "unchecked",
        reason: `the program is longer than ${MAX_CHECKED_CHARS} characters`,
      });
    const checked = this.#inTurn(async () => {
      const process = await this.#start(patienceMs);
      const checking = process.check(program, modules, earlier, platform);
      const limitMs = patienceMs ?? (program.savedAs === undefined ? this.#checkLimitMs : SAVED_LIMIT_MS);
      const { mistakes, hints } = await this.#within(limitMs, process, checking);
      return mistakes === undefined ? { kind: "clean", hints } : { kind: "errors", ...mistakes };
    });
    if (patienceMs === undefined) return checked;
    // This time includes the checks before it, and the start of the checker.
    const late = () => new Error(tookLonger(patienceMs));
    return inTime(checked, patienceMs, late).catch((error: unknown) => ({
      kind: "unchecked",
      reason: messageOf(error),
    }));
  }

  async warm(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#start();
      return { kind: "clean", hints: [] };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const process = this.#process;
    this.#process = undefined;
    process?.kill();
    await Promise.all([process && whenAborted(process.gone), this.#last]);
  }

  #inTurn(work: () => Promise<TypeCheckOutcome>): Promise<TypeCheckOutcome> {
    const turn = this.#last.then(async (): Promise<TypeCheckOutcome> => {
      try {
        return await work();
      } catch (error) {
        this.#process?.kill();
        this.#process = undefined;
        return { kind: "unchecked", reason: messageOf(error) };
      }
    });
    this.#last = turn;
    return turn;
  }

  async #start(patienceMs = 0): Promise<TypeCheckProcess> {
    if (this.#process !== undefined) return this.#process;
    const { TypeCheckProcess } = await import("./type-check/type-check-process.ts");
    if (this.#closed) throw new Error("the type checker is closed");
    const process = new TypeCheckProcess(this.#processes);
    this.#process = process;
    await this.#within(Math.max(START_LIMIT_MS, patienceMs), process, process.start());
    void whenAborted(process.gone).then(() => {
      if (this.#process === process) this.#process = undefined;
    });
    return process;
  }

  /** Bounds the work of a process that may hang or die. @throws if it does. The caller then ends the process. */
  async #within<T>(limitMs: number, process: TypeCheckProcess, work: Promise<T>): Promise<T> {
    work.catch(() => {});
    const alive = orAborted(work, process.gone, () => new Error("the type checker's process ended"));
    return inTime(alive, limitMs, () => new Error(tookLonger(limitMs)));
  }
}

function tookLonger(limitMs: number): string {
  return `type checking took longer than ${limitMs} ms`;
}
