/** The timers of programs in an interpreter. The process waits for them, and decides when each fires. */
import type { HostFunctions } from "../host-functions.ts";

type Callback = (...args: unknown[]) => void;

const PROMISIFY = Symbol.for("nodejs.util.promisify.custom");
/** Longer delays are 1 ms, as in Node.js. */
const MAX_DELAY_MS = 2 ** 31 - 1;

type Host = Pick<HostFunctions, "setTimer" | "clearTimer" | "keepTimer">;

export function makeTimers({ setTimer, clearTimer, keepTimer }: Host) {
  const known = new Map<number, Timeout>();

  class Timeout {
    #id: number;
    readonly #callback: Callback;
    readonly #args: unknown[];
    readonly #delay: number;
    readonly #kind: "timeout" | "immediate";
    readonly #repeats: boolean;
    #isKept = true;
    #isCleared = false;

    constructor(
      callback: Callback,
      args: unknown[],
      delay: number,
      kind: "timeout" | "immediate",
      repeats: boolean,
    ) {
      this.#callback = callback;
      this.#args = args;
      this.#delay = delay;
      this.#kind = kind;
      this.#repeats = repeats;
      this.#id = setTimer(delay, kind);
      known.set(this.#id, this);
    }

    fire(): void {
      known.delete(this.#id);
      if (this.#repeats) this.#start();
      Reflect.apply(this.#callback, this, this.#args);
    }

    ref(): this {
      this.#isKept = true;
      if (known.has(this.#id)) keepTimer(this.#id, true);
      return this;
    }

    unref(): this {
      this.#isKept = false;
      if (known.has(this.#id)) keepTimer(this.#id, false);
      return this;
    }

    hasRef(): boolean {
      return this.#isKept && known.has(this.#id);
    }

    refresh(): this {
      if (this.#isCleared) return this;
      this.#stop();
      this.#start();
      return this;
    }

    close(): this {
      this.#isCleared = true;
      this.#stop();
      return this;
    }

    [Symbol.dispose](): void {
      this.close();
    }

    [Symbol.toPrimitive](): number {
      return this.#id;
    }

    #start(): void {
      this.#id = setTimer(this.#delay, this.#kind);
      known.set(this.#id, this);
      if (!this.#isKept) keepTimer(this.#id, false);
    }

    #stop(): void {
      if (known.delete(this.#id)) clearTimer(this.#id);
    }
  }

  const set = (
    callback: Callback,
    delay: unknown,
    args: unknown[],
    kind: "timeout" | "immediate" = "timeout",
    repeats = false,
  ): Timeout => {
    if (typeof callback !== "function")
      throw new TypeError('The "callback" argument must be of type function');
    const ms = Number(delay);
    return new Timeout(callback, args, ms >= 1 && ms <= MAX_DELAY_MS ? ms : 1, kind, repeats);
  };
  const clear = (timer: unknown): void => {
    if (timer instanceof Timeout) timer.close();
    else if (typeof timer === "number" || typeof timer === "string") known.get(Number(timer))?.close();
  };

  const functions = {
    setTimeout: (callback: Callback, delay?: number, ...args: unknown[]) => set(callback, delay, args),
    setInterval: (callback: Callback, delay?: number, ...args: unknown[]) =>
      set(callback, delay, args, "timeout", true),
    setImmediate: (callback: Callback, ...args: unknown[]) => set(callback, 0, args, "immediate"),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  };
  const promises = makePromises(functions);
  Object.defineProperty(functions.setTimeout, PROMISIFY, { value: promises.setTimeout });
  Object.defineProperty(functions.setImmediate, PROMISIFY, { value: promises.setImmediate });
  return { functions, promises, fire: (id: number) => known.get(id)?.fire() };
}

interface WaitFunctions {
  setTimeout(callback: Callback, delay?: number): { close(): unknown; unref(): unknown };
  setInterval(callback: Callback, delay?: number): { close(): unknown };
  setImmediate(callback: Callback): unknown;
}

/** node:timers/promises. There are no signals here that could end a wait. */
function makePromises({ setTimeout, setInterval, setImmediate }: WaitFunctions) {
  const wait = <T>(delay?: number, value?: T, { ref = true }: { ref?: boolean } = {}) =>
    new Promise<T | undefined>((resolve) => {
      const timer = setTimeout(() => resolve(value), delay);
      if (!ref) timer.unref();
    });
  return {
    setTimeout: wait,
    setImmediate: <T>(value?: T) =>
      new Promise<T | undefined>((resolve) => void setImmediate(() => resolve(value))),
    async *setInterval<T>(delay?: number, value?: T) {
      let due = 0;
      let wake = () => {};
      const timer = setInterval(() => {
        due++;
        wake();
      }, delay);
      try {
        for (;;) {
          for (; due > 0; due--) yield value;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        timer.close();
      }
    },
    scheduler: { wait: (delay?: number) => wait(delay), yield: () => wait(0) },
  };
}
