import { writeJson } from "../../base/json.ts";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import type { ApprovalAnswer, ApprovalRequest } from "./approvals.ts";

interface Bounds {
  textChars: number;
  entries: number;
  depth: number;
  /** For all arguments together. The entries of a list or an object share them evenly. */
  chars: number;
}

/** For a question that interrupts: as much as dialogs of clients and a terminal can still scroll through. */
const QUESTION: Bounds = { textChars: 4_000, entries: 100, depth: 16, chars: 12_000 };

/** For a person who wants to see everything. */
export const WHOLE: Bounds = { textChars: 100_000, entries: 1_000, depth: 32, chars: 400_000 };

/** If an entry of a list or an object would get fewer characters than this, entries are only counted. */
const MIN_ENTRY_CHARS = 40;

/**
 * Renders the arguments of a call as indented JSON, for the person who decides about it. A mark outside all quotes says how
 * much is left out. A long value cannot hide another one. No value can imitate a mark or another line, or move the cursor.
 */
export function renderApprovalArguments(args: unknown, bounds: Bounds = QUESTION): string {
  return args === undefined ? "nothing" : render(args, 0, bounds.chars, bounds);
}

/**
 * The arguments for a question that interrupts. `rest` says, in ptc's words, where to read what was left out.
 *
 * @param ticket the ticket under which the run waits, if it has one.
 */
export function renderAskedArguments(
  args: unknown,
  ticket?: string,
): { text: string; rest: string | undefined } {
  const text = renderApprovalArguments(args);
  if (text === renderApprovalArguments(args, WHOLE)) return { text, rest: undefined };
  const where =
    ticket === undefined
      ? "to read the rest first, refuse the call, and look at what the program passes"
      : `\`ptc approvals show ${ticket}\` shows it`;
  return { text, rest: `Something of the arguments is left out; ${where}` };
}

function render(value: unknown, depth: number, room: number, bounds: Bounds): string {
  if (typeof value === "string") return renderText(value, room, bounds);
  if (typeof value !== "object" || value === null) return writeJson(value) ?? "nothing";
  const isList = Array.isArray(value);
  const names = Object.keys(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (names.length === 0) return open + close;
  const each = Math.floor(room / Math.min(names.length, bounds.entries));
  if (depth >= bounds.depth || each < MIN_ENTRY_CHARS)
    return `${open} ... (${names.length} ${noun(isList, names.length)}) ${close}`;
  const indent = "  ".repeat(depth + 1);
  const entries = names.slice(0, bounds.entries).map((name) => {
    const entry = render((value as Record<string, unknown>)[name], depth + 1, each, bounds);
    return `${indent}${isList ? "" : `${renderText(name, each, bounds)}: `}${entry}`;
  });
  const rest = names.length - entries.length;
  const more = rest === 0 ? "" : `\n${indent}... (${rest} more ${noun(isList, rest)})`;
  return `${open}\n${entries.join(",\n")}${more}\n${"  ".repeat(depth)}${close}`;
}

function noun(isList: boolean, count: number): string {
  if (count === 1) return isList ? "entry" : "member";
  return isList ? "entries" : "members";
}

function renderText(text: string, room: number, { textChars }: Bounds): string {
  const most = Math.min(textChars, room);
  const rest = text.length - most;
  const shown = unmistakableLine(JSON.stringify(rest <= 0 ? text : text.slice(0, most)));
  return rest <= 0 ? shown : `${shown} ... (${rest} more characters)`;
}

/** The origins of a call's values, for the person who decides: a heading and a line for each argument. */
export function renderOrigins(origins: readonly string[]): string[] {
  if (origins.length === 0) return [];
  return ["Where its values come from:", ...origins.map((line) => `  ${unmistakableLine(line)}`)];
}

const MAX_CLAIM_CHARS = 2_000;

/**
 * What the tool's server says about the tool, for the person who decides about a call: a heading in ptc's words, and the server's
 * lines, bounded, which the caller marks as quoted. `undefined` if the server says nothing.
 */
export function renderClaims(
  claims: ApprovalRequest["claims"],
): { heading: string; said: string[] } | undefined {
  if (claims === undefined) return undefined;
  const { server, description, annotations } = claims;
  const said = [
    ...(description === undefined || description === "" ? [] : [description]),
    ...(annotations === undefined ? [] : [JSON.stringify(annotations)]),
  ].flatMap((text) => bound(text).split(/\r?\n/).map(unmistakableLine));
  if (said.length === 0) return undefined;
  return {
    heading: `Its server '${unmistakableLine(server)}' says of this tool, which nobody has checked:`,
    said,
  };
}

function bound(text: string): string {
  const rest = text.length - MAX_CLAIM_CHARS;
  return rest <= 0 ? text : `${text.slice(0, MAX_CLAIM_CHARS)} ... (${rest} more characters)`;
}

/** Says that the first answer came from elsewhere: one line that ends a sentence. */
export function describeAnswerElsewhere(answer: ApprovalAnswer | undefined): string {
  if (answer === undefined) return "it was answered by another way, and the first answer counts";
  const { decision, by, how } = answer;
  const what = decision === "denied" ? "denied" : "approved";
  const way = how === undefined ? "" : ` (${how})`;
  return unmistakableLine(`it was ${what} by ${by}${way}, and the first answer counts`);
}
