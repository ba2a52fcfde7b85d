import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import type { ObservedCall } from "../../../execution/call-log.ts";
import type { CallDecision } from "../../../protocol/call-decision.ts";

const MAX_LISTED_CALLS = 20;
const MAX_ARGUMENT_CHARS = 160;

/** The decisions after which a call is sent to its server. */
const LET_THROUGH: ReadonlySet<CallDecision> = new Set([
  "allowed",
  "approved-once",
  "approved-for-run",
  "unanswered",
]);

/**
 * Paragraphs about the calls that a program made before it failed: first those that changed something or may have, then
 * those that only read. A model that repairs the program must not repeat the former.
 */
export function renderEarlierCalls(
  ended: readonly ObservedCall[],
  isReadOnly: (tool: string) => boolean,
): string[] {
  const done = ended.filter(({ outcome }) => outcome.ok);
  const changing = done.filter(({ tool }) => !isReadOnly(tool));
  const unknown = ended
    .filter(({ outcome }) => !outcome.ok && mayHaveHappened(outcome))
    .map(({ tool }) => tool)
    .filter((tool) => !isReadOnly(tool));
  const reading = done.filter(({ tool }) => isReadOnly(tool));
  const parts: string[] = [];
  if (changing.length > 0) {
    const lines = changing
      .slice(0, MAX_LISTED_CALLS)
      .map(({ tool, arguments: args }) => `${oneLine(tool)}(${brief(args)})`);
    if (changing.length > lines.length) lines.push(`and ${changing.length - lines.length} more`);
    const what = `${countNoun(changing.length, "call")} had completed and may have changed something`;
    parts.push(`Before it failed, ${what}; do not repeat what must happen once:\n${lines.join("\n")}`);
  }
  if (unknown.length > 0) parts.push(`Not known whether these took effect: ${tally(unknown)}`);
  if (reading.length > 0) {
    parts.push(`Completed and only read: ${tally(reading.map(({ tool }) => tool))}`);
  }
  return parts;
}

/** Whether a failed call may have had an effect: it was sent, and its answer was lost, late or unusable. */
function mayHaveHappened({ decision, ...outcome }: ObservedCall["outcome"]): boolean {
  return LET_THROUGH.has(decision) && !("raw" in outcome && outcome.raw !== undefined);
}

function tally(tools: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const tool of tools) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const items = [...counts].map(([tool, times]) =>
    times === 1 ? oneLine(tool) : `${oneLine(tool)} x${times}`,
  );
  const shown = items.slice(0, MAX_LISTED_CALLS);
  if (items.length > shown.length) shown.push(`and ${items.length - shown.length} more tools`);
  return shown.join(", ");
}

function brief(args: unknown): string {
  const text = args === undefined ? "" : jsonLine(args);
  return text.length <= MAX_ARGUMENT_CHARS ? text : `${text.slice(0, MAX_ARGUMENT_CHARS)}...`;
}
