import { AsyncResource } from "node:async_hooks";
import timers from "node:timers";
import { promisify } from "node:util";
import { type EventOrder, timerEvent } from "./event-order.ts";
import type { ProgramScope } from "./program-scope.ts";
import { replaceFunction } from "./replace-function.ts";

type Callback = (...args: unknown[]) => void;
type Real = NodeJS.Timeout | NodeJS.Immediate;

const real = { setTimeout, setImmediate, clearTimeout, clearImmediate };

/** A timer of the program, with the methods of Node's timers: a real timer in a live run, a held event in a replay. */
class Timeout {
  #id: number;
  #program: number;
  readonly #timers: ProgramTimers;
  readonly #start: (fire: () => void) => Real;
  readonly #callback: Callback;
  readonly #repeats: boolean;
  /** The asynchronous context in which the timer was set, as a real timer keeps it. */
  readonly #context: AsyncResource | undefined;
  #real: Real | undefined;
  #referenced = true;
  #over = false;
  #isCleared = false;

  constructor(
    id: number,
    owner: ProgramTimers,
    start: (fire: () => void) => Real,
    callback: Callback,
    repeats: boolean,
  ) {
    this.#id = id;
    this.#program = owner.program;
    this.#timers = owner;
    this.#start = start;
    this.#callback = callback;
    this.#repeats = repeats;
    if (owner.order.replaying) this.#context = new AsyncResource("Timeout", { requireManualDestroy: true });
    this.#schedule();
  }

  ref(): this {
    this.#referenced = true;
    this.#real?.ref();
    return this;
  }

  unref(): this {
    this.#referenced = false;
    this.#real?.unref();
    return this;
  }

  hasRef(): boolean {
    return this.#referenced && !this.#over;
  }

  /** Starts it again, even after it has fired. As in Node.js, a cleared timer stays cleared. */
  refresh(): this {
    if (this.#isCleared) return this;
    this.#stop();
    this.#schedule();
    return this;
  }

  close(): this {
    this.#isCleared = true;
    this.end();
    return this;
  }

  /** The program that set it has ended. A later program of the session may start it again. */
  end(): void {
    this.#over = true;
    this.#stop();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  [Symbol.toPrimitive](): number {
    return this.#id;
  }

  #schedule(): void {
    this.#over = this.#timers.scope.isLate;
    if (this.#over) return;
    if (this.#program !== this.#timers.program) {
      // A later program of the session has started it again, so it now belongs to that one.
      this.#id = this.#timers.takeId();
      this.#program = this.#timers.program;
    }
    this.#timers.known.set(this.#id, this);
    const { order } = this.#timers;
    if (order.replaying) {
      order.hold(timerEvent(this.#id), { deliver: () => this.#fire(), release: () => this.#arm() });
    } else {
      this.#arm();
    }
  }

  #arm(): void {
    const { order } = this.#timers;
    this.#real = this.#start(() => order.happen(timerEvent(this.#id), () => this.#fire()));
    if (!this.#referenced) this.#real.unref();
  }

  #stop(): void {
    this.#timers.known.delete(this.#id);
    this.#timers.order.drop(timerEvent(this.#id));
    if (this.#real !== undefined && "refresh" in this.#real) real.clearTimeout(this.#real);
    else real.clearImmediate(this.#real);
    this.#real = undefined;
  }

  #fire(): void {
    this.#real = undefined;
    if (this.#repeats) this.#schedule();
    else {
      this.#over = true;
      this.#timers.known.delete(this.#id);
    }
    if (this.#context === undefined) Reflect.apply(this.#callback, this, []);
    else this.#context.runInAsyncScope(this.#callback, this);
  }
}

/** The timers of the program, numbered in the order in which they are set, firing in the given event order. */
export class ProgramTimers {
  readonly order: EventOrder;
  readonly scope: ProgramScope;
  readonly known = new Map<number, Timeout>();
  /** The number of the program within its session. */
  program = 0;
  #nextId = 1;

  /** @param scope code left by an earlier program sets no timers. */
  constructor(order: EventOrder, scope: ProgramScope) {
    this.order = order;
    this.scope = scope;
  }

  /** The program has ended: none of its timers fire. */
  end(): void {
    for (const timer of [...this.known.values()]) timer.end();
    this.program++;
    this.#nextId = 1;
  }

  takeId(): number {
    return this.#nextId++;
  }

  /** Replaces the realm's own timers. */
  install(): void {
    const setTimeout = (callback: Callback, delay?: number, ...args: unknown[]) =>
      this.#set((fire) => real.setTimeout(fire, delay), callback, args);
    const setInterval = (callback: Callback, delay?: number, ...args: unknown[]) =>
      this.#set((fire) => real.setTimeout(fire, delay), callback, args, true);
    const setImmediate = (callback: Callback, ...args: unknown[]) =>
      this.#set((fire) => real.setImmediate(fire), callback, args);
    const { timeout } = AbortSignal;
    const promises = makeTimerPromises({ setTimeout, setInterval, setImmediate });

    Object.defineProperty(setTimeout, promisify.custom, { get: () => promises.setTimeout, enumerable: true });
    Object.defineProperty(setImmediate, promisify.custom, {
      get: () => promises.setImmediate,
      enumerable: true,
    });
    const functions = { setTimeout, setInterval, setImmediate };
    const clears = ["clearTimeout", "clearInterval", "clearImmediate"];
    for (const target of [globalThis, timers]) {
      for (const [name, replacement] of Object.entries(functions)) replaceFunction(target, name, replacement);
      for (const name of clears) replaceFunction(target, name, (timer: unknown) => this.#clear(timer));
    }
    for (const name of ["setTimeout", "setInterval", "setImmediate"] as const) {
      replaceFunction(timers.promises, name, promises[name]);
    }
    const scheduler = Object.getPrototypeOf(timers.promises.scheduler) as object;
    replaceFunction(scheduler, "wait", (delay: number, options?: object) =>
      promises.setTimeout(delay, undefined, options),
    );
    replaceFunction(scheduler, "yield", () => promises.setImmediate());
    replaceFunction(AbortSignal, "timeout", (delay: number) => {
      // Throws for anything that is not a delay.
      timeout.call(AbortSignal, delay);
      return promises.abortAfter(delay);
    });
  }

  #set(start: (fire: () => void) => Real, callback: Callback, args: unknown[], repeats = false): Timeout {
    // Throws Node's own error for anything that is not a function.
    if (typeof callback !== "function") real.setImmediate(callback);
    const call = function (this: unknown) {
      Reflect.apply(callback, this, args);
    };
    const id = this.scope.isLate ? 0 : this.takeId();
    return new Timeout(id, this, start, call, repeats);
  }

  #clear(timer: unknown): void {
    if (timer instanceof Timeout) timer.close();
    else if (typeof timer === "number" || typeof timer === "string") this.known.get(Number(timer))?.close();
  }
}

interface TimerHandle {
  close(): unknown;
  unref(): unknown;
}
interface Timers {
  setTimeout(callback: () => void, delay?: number): TimerHandle;
  setInterval(callback: () => void, delay?: number): TimerHandle;
  setImmediate(callback: () => void): TimerHandle;
}
interface WaitOptions {
  signal?: AbortSignal;
  ref?: boolean;
}

/** node:timers/promises and other waiting functions, built on the given timers. */
function makeTimerPromises(timers: Timers) {
  function wait<T>(set: (done: () => void) => TimerHandle, value: T, options: WaitOptions = {}): Promise<T> {
    const { signal, ref = true } = options;
    if (signal?.aborted) return Promise.reject(abortError(signal));
    return new Promise((resolve, reject) => {
      const timer = set(() => {
        signal?.removeEventListener("abort", abort);
        resolve(value);
      });
      function abort(this: AbortSignal): void {
        timer.close();
        reject(abortError(this));
      }
      if (!ref) timer.unref();
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  async function* ticks<T>(
    delay: number | undefined,
    value: T,
    options: WaitOptions = {},
  ): AsyncGenerator<T> {
    const { signal, ref = true } = options;
    if (signal?.aborted) throw abortError(signal);
    let due = 0;
    let wake = () => {};
    const timer = timers.setInterval(() => {
      due++;
      wake();
    }, delay);
    if (!ref) timer.unref();
    const abort = () => {
      timer.close();
      wake();
    };
    signal?.addEventListener("abort", abort);
    try {
      for (;;) {
        for (; due > 0; due--) yield value;
        if (signal?.aborted) throw abortError(signal);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      timer.close();
      signal?.removeEventListener("abort", abort);
    }
  }

  return {
    setTimeout: <T>(delay?: number, value?: T, options?: WaitOptions) =>
      wait((done) => timers.setTimeout(done, delay), value, options),
    setImmediate: <T>(value?: T, options?: WaitOptions) =>
      wait((done) => timers.setImmediate(done), value, options),
    setInterval: <T>(delay?: number, value?: T, options?: WaitOptions) => ticks(delay, value, options),
    /** `AbortSignal.timeout`. */
    abortAfter(delay: number): AbortSignal {
      const controller = new AbortController();
      const error = new DOMException("The operation was aborted due to timeout", "TimeoutError");
      timers.setTimeout(() => controller.abort(error), delay).unref();
      return controller.signal;
    },
  };
}

function abortError(signal: AbortSignal): Error {
  const error = new Error("The operation was aborted", { cause: signal.reason });
  return Object.assign(error, { name: "AbortError", code: "ABORT_ERR" });
}
