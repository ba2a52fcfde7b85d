import type { Clock } from "../base/clock.ts";

/** The clocks of this process. */
export const clock: Clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
