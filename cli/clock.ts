/** The monotonic clock of this process, in milliseconds. */
export const clock = { nowMs: () => performance.now(), now: () => performance.now() };
