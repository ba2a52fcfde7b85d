import type { ModuleSource } from "./module-source.ts";
import type { Program } from "./program.ts";
import type { TypeCheckSession } from "./type-check-session.ts";
import type { ProcessObserver } from "./typescript-api.ts";

/** The generated modules, with the declarations that all of them share. */
export interface CheckedModules extends ModuleSource {
  /** Text of the generated `runtime.d.ts`. */
  readonly declarations: string;
}

type TypeCheckOutcome =
  | { kind: "clean" }
  /** `message` is for a model to read: places, lines, what is wrong, what is expected. */
  | { kind: "errors"; message: string; count: number }
  /** The program was not judged, which is nothing against it. */
  | { kind: "unchecked"; reason: string };

export interface TypeChecker {
  /**
   * Finds mistakes that a program would run into: wrong arguments of tools, wrong use of what they return, names that do
   * not exist. Syntax and imports are the bundler's to judge. Never rejects. One check at a time; more wait their turn.
   */
  check(program: Program, modules: CheckedModules): Promise<TypeCheckOutcome>;
  /** Starts what the first check would have to start. Never rejects. */
  warm(): Promise<void>;
  /** Ends the checker's process, also while it works. Never rejects. */
  close(): Promise<void>;
}

/** Longer programs carry data; checking that takes long and finds nothing. */
const MAX_CHECKED_CHARS = 256 * 1024;
const START_LIMIT_MS = 15_000;
const CHECK_LIMIT_MS = 5_000;

export interface TypeCheckerOptions extends ProcessObserver {
  checkLimitMs?: number;
}

/**
 * A type checker with one process of TypeScript's, started when first needed and started anew after it died or was killed
 * because a check did not end in time.
 */
export function createTypeChecker(options: TypeCheckerOptions = {}): TypeChecker {
  return new ProcessTypeChecker(options);
}

class ProcessTypeChecker implements TypeChecker {
  readonly #checkLimitMs: number;
  readonly #observer: ProcessObserver;
  #session: TypeCheckSession | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor({ checkLimitMs = CHECK_LIMIT_MS, ...observer }: TypeCheckerOptions) {
    this.#checkLimitMs = checkLimitMs;
    this.#observer = observer;
  }

  check(program: Program, modules: CheckedModules): Promise<TypeCheckOutcome> {
    if (program.code.length > MAX_CHECKED_CHARS)
      return Promise.resolve({
        kind: "unchecked",
        reason: `the program is longer than ${MAX_CHECKED_CHARS} characters`,
      });
    return this.#inTurn(async () => {
      const session = await this.#start();
      const checking = session.check(program, modules, modules.declarations);
      const mistakes = await this.#within(this.#checkLimitMs, session, checking);
      return mistakes === undefined ? { kind: "clean" } : { kind: "errors", ...mistakes };
    });
  }

  async warm(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#start();
      return { kind: "clean" };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const session = this.#session;
    this.#session = undefined;
    session?.kill();
    await Promise.all([session?.ended, this.#last]);
  }

  #inTurn(work: () => Promise<TypeCheckOutcome>): Promise<TypeCheckOutcome> {
    const turn = this.#last.then(async (): Promise<TypeCheckOutcome> => {
      try {
        return await work();
      } catch (error) {
        this.#session?.kill();
        this.#session = undefined;
        return { kind: "unchecked", reason: error instanceof Error ? error.message : String(error) };
      }
    });
    this.#last = turn;
    return turn;
  }

  async #start(): Promise<TypeCheckSession> {
    if (this.#session !== undefined) return this.#session;
    const { TypeCheckSession } = await import("./type-check-session.ts");
    if (this.#closed) throw new Error("the type checker is closed");
    const session = new TypeCheckSession(this.#observer);
    this.#session = session;
    await this.#within(START_LIMIT_MS, session, session.start());
    void session.ended.then(() => {
      if (this.#session === session) this.#session = undefined;
    });
    return session;
  }

  /** Work of a process that may hang or die. @throws when it does; the process is ended then. */
  async #within<T>(limitMs: number, session: TypeCheckSession, work: Promise<T>): Promise<T> {
    work.catch(() => {});
    const stop = new AbortController();
    const late = new Promise<never>((_, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`type checking took longer than ${limitMs} ms`)),
        limitMs,
      );
      stop.signal.addEventListener("abort", () => clearTimeout(timer));
    });
    const ended = session.ended.then(() => {
      throw new Error("the type checker's process ended");
    });
    ended.catch(() => {});
    try {
      return await Promise.race([work, late, ended]);
    } finally {
      stop.abort();
    }
  }
}
