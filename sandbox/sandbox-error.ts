import { orAborted } from "../base/waiting.ts";

export type SandboxErrorCode =
  | "engine_unreachable"
  | "runtime_missing"
  | "image_missing"
  | "start_failed"
  | "wall_broken"
  | "cancelled"
  | "base_unavailable"
  | "build_failed";

/** A sandbox cannot be started or used on this host. The message says what to do about it. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** @throws SandboxError `cancelled` if the signal is already aborted. */
export function refuseCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw cancellation();
}

/**
 * Settles like the work, unless the signal aborts first. The work itself continues.
 *
 * @throws SandboxError `cancelled`
 */
export function orCancelled<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return orAborted(work, signal, cancellation);
}

function cancellation(): SandboxError {
  return new SandboxError("cancelled", "cancelled before there was a sandbox");
}
