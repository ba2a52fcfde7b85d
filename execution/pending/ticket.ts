import { randomBytes } from "node:crypto";

const TICKET_BYTES = 8;

/** A name for a question that nobody guesses. */
export function newTicket(): string {
  return randomBytes(TICKET_BYTES).toString("hex");
}
