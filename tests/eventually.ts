import { vi } from "vitest";

/** Waits until an assertion holds, as long as a busy machine may need. Resolves with what it returns. */
export function eventually<T>(assertion: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(assertion, { timeout: 60_000, interval: 20 });
}
