import { writeJson } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { approvableCalls, keepableCalls } from "./approval-scope.ts";
import type { ApprovalAnswer, ApprovalRequest } from "./approvals.ts";
import {
  describeAssumption,
  describePart,
  describePath,
  isApprovable,
  type Plan,
  type PlannedCall,
} from "./plan.ts";

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

/** How long the arguments of one call are in a question that interrupts, where there are several calls. */
const BRIEF = { textChars: 300, entries: 20, depth: 6, chars: 1_200 };
/** A call whose name and arguments are no longer than this is one line of a plan, because dialogs show few lines. */
const MAX_CALL_CHARS = 100;
const MAX_TOOLS = 6;

/** A plan in one line: how many calls of which tools. */
export function summarizePlan({ calls, more }: Plan): string {
  const counts = new Map<string, number>();
  for (const { tool } of calls) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const tools = [...counts].map(([tool, count]) => `${count} of ${unmistakableLine(tool)}`);
  const rest = tools.length - MAX_TOOLS;
  const named = rest > 0 ? [...tools.slice(0, MAX_TOOLS), `${rest} more tools`] : tools;
  return `${countNoun(calls.length, "call")}: ${named.join(", ")}${more === undefined ? "" : "; more may follow"}`;
}

/** What a planned call is beside its arguments, one line each: when it is made, open values, and how it is asked about. */
export function describePlanned(call: PlannedCall): string[] {
  const open = call.open.map(({ path, parts }) => {
    const from = parts.flatMap((part) => (typeof part === "string" ? [] : [describePart(part)]));
    const isLate = parts.some((part) => typeof part !== "string" && "read" in part);
    if (isLate)
      return `${unmistakableLine(describePath(path))} comes ${unmistakableLine(from.join(" and "))}, and from nowhere else`;
    return `${unmistakableLine(describePath(path))} has ${unmistakableLine(from.join(" and "))}, which has to be just that`;
  });
  const undecided = call.undecided.map(
    (path) =>
      `${unmistakableLine(describePath(path)) || "its arguments"}: decided later, so that this call is asked about by itself`,
  );
  const { when = [], again } = call;
  const assumed = when.map((each) => unmistakableLine(describeAssumption(each)));
  return [
    ...(assumed.length === 0 ? [] : [`only if ${assumed.join(" and ")}`]),
    ...open,
    ...undecided,
    ...(again === undefined ? [] : ["again once if it fails"]),
    ...(call.asks ? [] : ["it changes something, and no approval is needed"]),
  ];
}

/** A call of a plan in lines: its number and tool, its arguments, and what else is known of it. */
function renderPlanned(call: PlannedCall, number: number, isWhole: boolean): string[] {
  const args = isWhole
    ? renderApprovalArguments(call.arguments)
    : renderApprovalArguments(call.arguments, BRIEF);
  const mark = isApprovable(call) ? "" : " *";
  const name = `${number}. ${unmistakableLine(call.tool)}${mark}`;
  // A value has no line breaks of its own here.
  const inOne = `${name} ${args.replaceAll(/\n */g, " ")}`;
  return [
    ...(inOne.length <= MAX_CALL_CHARS ? [inOne] : [name, ...args.split("\n").map((line) => `   ${line}`)]),
    ...describePlanned(call).map((line) => `   - ${line}`),
  ];
}

/** All calls of a plan in lines, for a question that interrupts, and what is not known of what follows. */
export function renderPlan(plan: Plan): string[] {
  return plan.calls.flatMap((call, index) => renderPlanned(call, index + 1, false));
}

/** One call of a plan in full. */
export function renderPlannedCall(plan: Plan, number: number): string[] {
  const call = plan.calls[number - 1];
  return call === undefined ? [`There is no call ${number}.`] : renderPlanned(call, number, true);
}

/** What a person has to know of a plan besides its calls, in ptc's words. */
export function renderPlanNotes(plan: Plan): string[] {
  const others = plan.calls.length - approvableCalls(plan).length;
  return [
    plan.more === undefined
      ? "Nothing else is changed: any other call is asked about."
      : `More may follow: ${unmistakableLine(plan.more)}. Any other call is asked about.`,
    ...(keepableCalls(plan).length === 0
      ? []
      : [
          `Values from later reads are taken from just that place; ${keepableCalls(plan)
            .map((number) => `${number}?`)
            .join(" ")} asks again once they are known.`,
        ]),
    ...(others === 0 ? [] : [`* ${others === 1 ? "is" : "are"} no part of the answer.`]),
  ];
}

/** Whether a question is about more than one call. */
export function isPlanQuestion(plan: Plan | undefined): plan is Plan {
  return plan !== undefined && approvableCalls(plan).length > 1;
}
