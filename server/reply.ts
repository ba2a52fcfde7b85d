import type { CallRecord } from "../execution/call-log.ts";
import type { ExecutedProgram } from "../execution/execute-program.ts";
import type { Failure } from "../protocol/failure.ts";
import { TRUNCATION_MARK } from "../protocol/text-cap.ts";

/** What a tool call of the model's gets back: text for the model, and the envelope beside it for programs. */
export type ToolReply = {
  content: { type: "text"; text: string }[];
  isError?: true;
  _meta?: Record<string, unknown>;
};

const SUCCEEDED = "[Script executed successfully]";
const FAILED = "[Script execution failed]";
const MAX_LISTED_CALLS = 20;
const MAX_ARGUMENT_CHARS = 160;
const MAX_CONSOLE_CHARS = 4_000;

export function textReply(text: string): ToolReply {
  return { content: [{ type: "text", text }] };
}

export function errorReply(text: string): ToolReply {
  return { ...textReply(text), isError: true };
}

/**
 * The reply to a program that ran, or could not: a status line, then its console text and value, or why it failed, what it
 * had already done, and hints.
 */
export function buildProgramReply(
  executed: ExecutedProgram,
  calls: readonly CallRecord[],
  context: { isReadOnly: (tool: string) => boolean; hints: readonly string[] },
): ToolReply {
  const { envelope } = executed;
  const text = envelope.result.ok
    ? renderSuccess(executed, envelope.result.data)
    : renderFailure(executed, envelope.result.error, calls, context);
  return {
    content: [{ type: "text", text }],
    ...(envelope.result.ok ? {} : { isError: true as const }),
    _meta: { "ptc/envelope": envelope },
  };
}

function renderSuccess({ consoleText, resultFrom, typeWarning }: ExecutedProgram, data: unknown): string {
  const lines = [SUCCEEDED];
  if (consoleText.trim() !== "") lines.push(withoutLastLineFeed(consoleText));
  if (resultFrom === "result" || (resultFrom === "line" && isCut(consoleText))) {
    lines.push(JSON.stringify(data));
  }
  if (lines.length === 1) lines.push("(no output)");
  if (typeWarning !== undefined) lines.push(`Type warnings:\n${typeWarning}`);
  return lines.join("\n");
}

function renderFailure(
  { consoleText, typeWarning }: ExecutedProgram,
  error: Failure,
  calls: readonly CallRecord[],
  { isReadOnly, hints }: { isReadOnly: (tool: string) => boolean; hints: readonly string[] },
): string {
  const parts = [`${FAILED}\n${headline(error)}`];
  if (hints.length > 0) parts.push(hints.join("\n"));
  if (typeWarning !== undefined) parts.push(`Type warnings:\n${typeWarning}`);
  if (consoleText.trim() !== "") {
    const shown =
      consoleText.length <= MAX_CONSOLE_CHARS ? consoleText : consoleText.slice(-MAX_CONSOLE_CHARS);
    const what = shown === consoleText ? "It had printed" : "The last that it had printed";
    parts.push(`${what}:\n${withoutLastLineFeed(shown)}`);
  }
  parts.push(...renderCalls(calls, isReadOnly));
  return parts.join("\n\n");
}

/** As a script would say it; a thrown error already names its own class. */
function headline({ type, message }: Failure): string {
  switch (type) {
    case "ScriptError":
      return message;
    case "Timeout":
      return `TimeoutError: ${message}`;
    default:
      return `${type}: ${message}`;
  }
}

/** The calls that had an effect, or may have had, before those that only read. */
function renderCalls(ended: readonly CallRecord[], isReadOnly: (tool: string) => boolean): string[] {
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
      .map(({ tool, arguments: args }) => `${tool}(${brief(args)})`);
    if (changing.length > lines.length) lines.push(`and ${changing.length - lines.length} more`);
    const what = `${count(changing.length, "call")} had completed and may have changed something`;
    parts.push(`Before it failed, ${what}; do not repeat what must happen once:\n${lines.join("\n")}`);
  }
  if (unknown.length > 0) parts.push(`Not known whether these took effect: ${tally(unknown)}`);
  if (reading.length > 0) {
    parts.push(`Completed and only read: ${tally(reading.map(({ tool }) => tool))}`);
  }
  return parts;
}

/** The server had the call, and what became of it was not learnt: the answer was lost, late or unusable. */
function mayHaveHappened({ decision, ...outcome }: CallRecord["outcome"]): boolean {
  const letThrough = decision === "allowed" || decision === "unanswered" || decision.startsWith("approved");
  return letThrough && !("raw" in outcome && outcome.raw !== undefined);
}

function tally(tools: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const tool of tools) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const items = [...counts].map(([tool, times]) => (times === 1 ? tool : `${tool} x${times}`));
  const shown = items.slice(0, MAX_LISTED_CALLS);
  if (items.length > shown.length) shown.push(`and ${items.length - shown.length} more tools`);
  return shown.join(", ");
}

function brief(args: unknown): string {
  const text = JSON.stringify(args) ?? "";
  return text.length <= MAX_ARGUMENT_CHARS ? text : `${text.slice(0, MAX_ARGUMENT_CHARS)}...`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

/** The console text ends before the last line that was printed. */
function isCut(consoleText: string): boolean {
  return consoleText.endsWith(`${TRUNCATION_MARK}\n`);
}

function withoutLastLineFeed(text: string): string {
  return text.endsWith("\n") ? text.slice(0, -1) : text;
}
