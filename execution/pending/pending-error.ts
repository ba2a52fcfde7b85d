/** What waits for approvals cannot be had. The message is one line. */
export class PendingError extends Error {
  override readonly name = "PendingError";
}
