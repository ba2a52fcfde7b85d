import { messageOf } from "../../../base/error-message.ts";
import { inTime } from "../../../base/in-time.ts";
import { orAborted, whenAborted } from "../../../base/or-aborted.ts";
import type { ModuleSource } from "../../prepare/module-source.ts";
import type { Program } from "../../program.ts";
import type { ProcessObserver } from "../typescript-api.ts";
import type { ProgramDeclarations } from "./files.ts";
import type { TypeCheckProcess } from "./type-check-process.ts";

type TypeCheckOutcome =
  /** `hints` is for a model: what contradicts results as they were observed so far, one line each. */
  | { kind: "clean"; hints: readonly string[] }
  /** `message` is for a model: places, lines, what is wrong and what is expected. */
  | { kind: "errors"; message: string; count: number }
  /** The program could not be checked, for reasons other than its types. */
  | { kind: "unchecked"; reason: string };

export interface TypeChecker {
  /**
   * Finds mistakes that would fail when the program runs: wrong arguments of tools, wrong use of their results, undefined
   * names. Syntax and imports are left to the bundler. Checks run one at a time. Never rejects.
   *
   * @param earlier the programs of its session, whose top level names it finds.
   * @param patienceMs how long to wait, in milliseconds, instead of five seconds from when the checker works on it.
   */
  check(
    program: Program,
    modules: ModuleSource,
    earlier?: readonly Program[],
    patienceMs?: number,
  ): Promise<TypeCheckOutcome>;
  /** Starts in advance what the first check would otherwise wait for. Never rejects. */
  warm(): Promise<void>;
  /** Ends the checker's process, even while it works. Never rejects. */
  close(): Promise<void>;
}

/** Longer programs are not checked: they mostly carry data, so checking takes long and finds nothing. */
const MAX_CHECKED_CHARS = 256 * 1024;
const START_LIMIT_MS = 15_000;
const CHECK_LIMIT_MS = 5_000;
/** The text of a saved program is checked and does not run. */
const SAVED_LIMIT_MS = 60_000;

export interface TypeCheckerOptions extends ProcessObserver {
  declarations: ProgramDeclarations;
  checkLimitMs?: number;
}

/**
 * A type checker with one process of TypeScript. The process is started on first use, and again after it died or was killed
 * because a check exceeded its time limit.
 */
export function createTypeChecker(options: TypeCheckerOptions): TypeChecker {
  return new ProcessTypeChecker(options);
}

class ProcessTypeChecker implements TypeChecker {
  readonly #declarations: ProgramDeclarations;
  readonly #checkLimitMs: number;
  readonly #observer: ProcessObserver;
  #process: TypeCheckProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor({ declarations, checkLimitMs = CHECK_LIMIT_MS, ...observer }: TypeCheckerOptions) {
    this.#declarations = declarations;
    this.#checkLimitMs = checkLimitMs;
    this.#observer = observer;
  }

  check(
    program: Program,
    modules: ModuleSource,
    earlier: readonly Program[] = [],
    patienceMs?: number,
  ): Promise<TypeCheckOutcome> {
    if (program.code.length > MAX_CHECKED_CHARS)
      return Promise.resolve({
        kind: "unchecked",
        reason: `the program is longer than ${MAX_CHECKED_CHARS} characters`,
      });
    const checked = this.#inTurn(async () => {
      const process = await this.#start(patienceMs);
      const checking = process.check(program, modules, earlier);
      const limitMs = patienceMs ?? (program.savedAs === undefined ? this.#checkLimitMs : SAVED_LIMIT_MS);
      const { mistakes, hints } = await this.#within(limitMs, process, checking);
      return mistakes === undefined ? { kind: "clean", hints } : { kind: "errors", ...mistakes };
    });
    if (patienceMs === undefined) return checked;
    // With the checks before it, and the checker's start.
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
    const { TypeCheckProcess } = await import("./type-check-process.ts");
    if (this.#closed) throw new Error("the type checker is closed");
    const process = new TypeCheckProcess(this.#declarations, this.#observer);
    this.#process = process;
    await this.#within(Math.max(START_LIMIT_MS, patienceMs), process, process.start());
    void whenAborted(process.gone).then(() => {
      if (this.#process === process) this.#process = undefined;
    });
    return process;
  }

  /** Work of a process that may hang or die. @throws when it does; the process is ended then. */
  async #within<T>(limitMs: number, process: TypeCheckProcess, work: Promise<T>): Promise<T> {
    work.catch(() => {});
    const alive = orAborted(work, process.gone, () => new Error("the type checker's process ended"));
    return inTime(alive, limitMs, () => new Error(tookLonger(limitMs)));
  }
}

function tookLonger(limitMs: number): string {
  return `type checking took longer than ${limitMs} ms`;
}
