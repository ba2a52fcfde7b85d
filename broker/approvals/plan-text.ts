import { countNoun } from "../../base/quantities.ts";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { renderApprovalArguments } from "./approval-text.ts";
import {
  approvableCalls,
  describePart,
  describePath,
  isApprovable,
  type Plan,
  type PlannedCall,
} from "./plan.ts";

/** How long the arguments of one call are in a question that interrupts, where there are several calls. */
const BRIEF = { textChars: 300, entries: 20, depth: 6, chars: 1_200 };
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

/** What a planned call is beside its arguments, one line each: open values, and how it is asked about. */
export function describePlanned(call: PlannedCall): string[] {
  const open = call.open.map(({ path, parts }) => {
    const from = parts.flatMap((part) => (typeof part === "string" ? [] : [describePart(part)]));
    return `${unmistakableLine(describePath(path))} has ${unmistakableLine(from.join(" and "))}, which has to be just that`;
  });
  const undecided = call.undecided.map(
    (path) =>
      `${unmistakableLine(describePath(path)) || "its arguments"}: decided later, so that this call is asked about by itself`,
  );
  return [...open, ...undecided, ...(call.asks ? [] : ["it changes something, and no approval is needed"])];
}

/** A call of a plan in lines: its number and tool, its arguments, and what else is known of it. */
function renderPlanned(call: PlannedCall, number: number, isWhole: boolean): string[] {
  const args = isWhole
    ? renderApprovalArguments(call.arguments)
    : renderApprovalArguments(call.arguments, BRIEF);
  const mark = isApprovable(call) ? "" : " *";
  return [
    `${number}. ${unmistakableLine(call.tool)}${mark}`,
    ...args.split("\n").map((line) => `   ${line}`),
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
    ...(others === 0 ? [] : [`* ${others === 1 ? "is" : "are"} no part of the answer.`]),
  ];
}

/** Whether a question is about more than one call. */
export function isPlanQuestion(plan: Plan | undefined): plan is Plan {
  return plan !== undefined && approvableCalls(plan).length > 1;
}
