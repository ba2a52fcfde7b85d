import { orAborted } from "../base/or-aborted.ts";
import { SandboxError } from "./sandbox-error.ts";

/** @throws SandboxError `cancelled` when the signal is already aborted. */
export function refuseCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw cancellation();
}

/**
 * Settles as the work does, unless the signal is aborted first. The work itself goes on.
 *
 * @throws SandboxError `cancelled`
 */
export function orCancelled<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return orAborted(work, signal, cancellation);
}

function cancellation(): SandboxError {
  return new SandboxError("cancelled", "cancelled before there was a sandbox");
}
