/**
 * Work that one person chooses, in threads that can be ended. A thread serves one person at a time for as long as a budget allows, and
 * is ended when that is over, whatever it is doing. People take turns, and what one of them asks for waits behind what the same person
 * asked for before. So however long somebody's work takes, this thread goes on, and others wait for one budget at most.
 */
import { Worker } from "node:worker_threads";
import { Turns } from "../base/turns.ts";
import { compileCacheVariable } from "./compile-cache.ts";

/** Why a turn had no result. The message is a predicate for the work: "takes too long". */
export class NoTurnError extends Error {
  override readonly name = "NoTurnError";
  /** `too_many`: somebody, or everybody together, has too much waiting. `died`: the thread ended by itself, or could not start. */
  readonly code: "overtime" | "died" | "too_many" | "closed";

  constructor(code: NoTurnError["code"]) {
    super(WHY[code]);
    this.code = code;
  }
}

const WHY = {
  overtime: "takes too long",
  died: "ended the thread that it was in",
  too_many: "waits behind too many others; try again when these have ended",
  closed: "was not begun, because ptc is ending",
} as const;

/** Asks the thread of a turn, one question at a time. @throws NoTurnError */
export type Ask<Question, Answer> = (question: Question) => Promise<Answer>;

interface WorkerTurnsOptions {
  /** How many threads there are at most. */
  threads: number;
  /** How much of one person, and of everybody, may wait or run. */
  maxOfOne: number;
  maxOfAll: number;
  /** How long an idle thread is kept; 0 for a new thread for each turn. */
  idleMs?: number;
}

const IDLE_MS = 30_000;
const START_TIMEOUT_MS = 20_000;
/** The heap of a thread. A thread that needs more is ended. */
const MAX_HEAP_MB = 256;

/** Runs turns in threads of one module, which answers by `serveTurns`. */
export class WorkerTurns<Question, Answer> {
  readonly #module: URL;
  readonly #options: WorkerTurnsOptions;
  readonly #turns = new Turns<(thread: TurnThread<Question, Answer>) => void>();
  readonly #idle: TurnThread<Question, Answer>[] = [];
  readonly #threads = new Set<TurnThread<Question, Answer>>();
  readonly #waiting = new Set<(error: NoTurnError) => void>();
  #running = 0;
  #isClosed = false;

  constructor(module: URL, options: WorkerTurnsOptions) {
    this.#module = module;
    this.#options = options;
  }

  /**
   * Gives somebody a thread in their turn.
   *
   * @param who whose work it is.
   * @param budgetMs for the whole turn, from when the thread is ready. The thread is ended after it.
   * @throws NoTurnError what `use` throws, too. A thread that did not answer as it should is not used again.
   */
  async use<T>(who: string, budgetMs: number, use: (ask: Ask<Question, Answer>) => Promise<T>): Promise<T> {
    const { maxOfOne, maxOfAll } = this.#options;
    if (this.#isClosed) throw new NoTurnError("closed");
    if (this.#turns.has(who) >= maxOfOne || this.#turns.waiting + this.#running >= maxOfAll)
      throw new NoTurnError("too_many");
    const thread = await this.#turnOf(who);
    try {
      return await thread.within(budgetMs, use);
    } finally {
      this.#running--;
      this.#turns.release(who);
      this.#turns.end(who);
      this.#rest(thread);
      this.#begin();
    }
  }

  /** Ends all threads. What waits or runs ends as `closed` or `died`. */
  close(): void {
    this.#isClosed = true;
    for (const refuse of this.#waiting) refuse(new NoTurnError("closed"));
    for (const thread of this.#threads) thread.end("closed");
    this.#threads.clear();
    this.#idle.length = 0;
  }

  #turnOf(who: string): Promise<TurnThread<Question, Answer>> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      this.#turns.wait(who, (thread) => {
        this.#waiting.delete(reject);
        resolve(thread);
      });
      this.#begin();
    });
  }

  #begin(): void {
    while (!this.#isClosed && this.#running < this.#options.threads) {
      const next = this.#turns.next();
      if (next === undefined) return;
      this.#turns.hold(next.who);
      this.#running++;
      let thread = this.#idle.pop();
      while (thread?.hasEnded) thread = this.#idle.pop();
      if (thread === undefined) {
        thread = new TurnThread(this.#module);
        this.#threads.add(thread);
      }
      thread.keep();
      next.item(thread);
    }
  }

  #rest(thread: TurnThread<Question, Answer>): void {
    if (thread.hasEnded || this.#isClosed || this.#options.idleMs === 0) {
      thread.end("closed");
      this.#threads.delete(thread);
      return;
    }
    this.#idle.push(thread);
    thread.endAfter(this.#options.idleMs ?? IDLE_MS, () => {
      this.#threads.delete(thread);
      const index = this.#idle.indexOf(thread);
      if (index >= 0) this.#idle.splice(index, 1);
    });
  }
}

type Told<Answer> = { readonly ready: true } | { readonly answer: Answer };

class TurnThread<Question, Answer> {
  readonly #module: URL;
  #worker: Worker | undefined;
  #settle: { resolve: (told: Told<Answer>) => void; reject: (error: NoTurnError) => void } | undefined;
  #endedBy: NoTurnError["code"] | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(module: URL) {
    this.#module = module;
  }

  get hasEnded(): boolean {
    return this.#endedBy !== undefined;
  }

  async within<T>(budgetMs: number, use: (ask: Ask<Question, Answer>) => Promise<T>): Promise<T> {
    await this.#start();
    const budget = setTimeout(() => this.end("overtime"), Math.max(budgetMs, 0));
    try {
      return await use(async (question) => {
        const told = await this.#answer(() => this.#worker?.postMessage(question));
        if ("answer" in told) return told.answer;
        this.end("died");
        throw new NoTurnError("died");
      });
    } finally {
      clearTimeout(budget);
      // An answer that somebody did not wait for must not reach the next turn.
      if (this.#settle !== undefined) this.end("died");
    }
  }

  keep(): void {
    clearTimeout(this.#idle);
  }

  endAfter(ms: number, onEnd: () => void): void {
    this.#idle = setTimeout(() => {
      this.end("closed");
      onEnd();
    }, ms).unref();
  }

  end(code: NoTurnError["code"]): void {
    if (this.#endedBy === undefined) {
      this.#endedBy = code;
      void this.#worker?.terminate().catch(() => {});
    }
    clearTimeout(this.#idle);
    this.#settle?.reject(new NoTurnError(this.#endedBy));
  }

  async #start(): Promise<void> {
    if (this.#worker !== undefined) return;
    const late = setTimeout(() => this.end("died"), START_TIMEOUT_MS);
    try {
      await this.#answer(() => {
        const limits = { maxOldGenerationSizeMb: MAX_HEAP_MB };
        const worker = new Worker(this.#module, {
          env: compileCacheVariable(),
          execArgv: [],
          resourceLimits: limits,
        });
        this.#worker = worker;
        worker.on("message", (told: Told<Answer>) => this.#settle?.resolve(told));
        worker.on("error", () => this.end("died")).on("exit", () => this.end("died"));
        // An idle thread must not keep ptc running. During a turn its timer does.
        worker.unref();
      });
    } finally {
      clearTimeout(late);
    }
  }

  #answer(send: () => void): Promise<Told<Answer>> {
    return new Promise<Told<Answer>>((resolve, reject) => {
      this.#settle = {
        resolve: (told) => {
          this.#settle = undefined;
          resolve(told);
        },
        reject: (error) => {
          this.#settle = undefined;
          reject(error);
        },
      };
      if (this.#endedBy !== undefined) this.#settle.reject(new NoTurnError(this.#endedBy));
      else
        try {
          send();
        } catch {
          this.end("died");
        }
    });
  }
}
