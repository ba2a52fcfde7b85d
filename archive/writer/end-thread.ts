import { parentPort } from "node:worker_threads";

/** Ends this thread once what it has posted is delivered. Deno ends a thread as browsers do. */
export function endThread(): void {
  const port: { close?(): void } | null = parentPort;
  if (port?.close !== undefined) port.close();
  else (globalThis as { close?(): void }).close?.();
}
