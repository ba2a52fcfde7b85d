import { oneLine } from "../base/visible-text.ts";

const MAX_NAMED = 5;

/** A call that was not answered when the time was up. */
export interface UnansweredCall {
  tool: string;
  /** Milliseconds since the call began. */
  pendingMs: number;
}

/** Says what a program was waiting for when its time was up, and how to give it more time, one line each. */
export function adviseOnTimeout(pending: readonly UnansweredCall[]): string[] {
  const named = pending
    .slice(0, MAX_NAMED)
    .map(({ tool, pendingMs }) => `${oneLine(tool, 160)} (for ${(pendingMs / 1_000).toFixed(1)} s)`);
  if (pending.length > named.length) named.push(`${pending.length - named.length} more`);
  const was =
    named.length === 0
      ? "no call was pending: the program itself was at work, or waited for a timer; look for a loop that never ends"
      : `${pending.length === 1 ? "a call was" : "calls were"} pending: ${named.join(", ")}`;
  return [was, "more time: `timeout_seconds` (`ptc run --timeout`)"];
}
