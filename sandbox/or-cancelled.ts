import { SandboxError } from "./sandbox-error.ts";

/** @throws SandboxError `cancelled` when the signal has come already. */
export function refuseCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw cancellation();
}

/**
 * Settles as the work does, unless the signal comes first. The work itself goes on.
 *
 * @throws SandboxError `cancelled`
 */
export async function orCancelled<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const settled = new AbortController();
  const cancelled = new Promise<never>((_, reject) => {
    const cancel = () => reject(cancellation());
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel, { signal: settled.signal });
  });
  try {
    return await Promise.race([work, cancelled]);
  } finally {
    settled.abort();
  }
}

function cancellation(): SandboxError {
  return new SandboxError("cancelled", "cancelled before there was a sandbox");
}
