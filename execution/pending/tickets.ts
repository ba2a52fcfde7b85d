import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

/** Pending approvals cannot be read or written. The message is one line. */
export class PendingError extends Error {
  override readonly name = "PendingError";
}

const TICKET_BYTES = 8;

/** A name for a question that nobody can guess. */
export function newTicket(): string {
  return randomBytes(TICKET_BYTES).toString("hex");
}

const POLL_MS = 300;

/**
 * Polls until an answer comes from elsewhere.
 *
 * @param read resolves with the answer, or `undefined` as long as there is none. After a `PendingError` it is tried again.
 * @param signal ends the polling. The promise then never resolves.
 */
export async function answerElsewhere<T>(
  read: () => T | undefined | Promise<T | undefined>,
  signal: AbortSignal,
): Promise<T> {
  while (await delay(POLL_MS, true, { signal }).catch(() => false)) {
    try {
      const answer = await read();
      if (answer !== undefined) return answer;
    } catch (error) {
      if (!(error instanceof PendingError)) throw error;
    }
  }
  return new Promise(() => {});
}
