/** The two clocks of a process. Code that needs only one takes only that one. */
export interface Clock {
  /** Milliseconds from any fixed point. Never runs backwards: for how long something takes. */
  monotonicMs(): number;
  /** Milliseconds since 1970, as the machine has it. May be set back or forth: for when something happened. */
  wallMs(): number;
}

/** The clocks of this process. */
export const clock: Clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
