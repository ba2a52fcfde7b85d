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

/** node:timers/promises, and what else waits, made of the given timers. */
export function makeTimerPromises(timers: Timers) {
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
    signal?.addEventListener("abort", abort, { once: true });
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
