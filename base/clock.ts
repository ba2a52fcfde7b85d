/** The two clocks of a process. Code that needs only one of them takes only that one. */
export interface Clock {
  /** Milliseconds since a fixed but arbitrary point. Never runs backwards. Use it to measure how long something takes. */
  monotonicMs(): number;
  /** Milliseconds since 1970 by the machine's clock, which can be set back or forward. Use it to say when something happened. */
  wallMs(): number;
}

/** The clocks of this process. */
export const clock: Clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
