import type { ApprovalAnswer } from "./approvals.ts";
import { MAX_PATTERN_CHARS, MAX_PATTERN_MEMBERS } from "./argument-pattern.ts";
import { hasLateValue, isApprovable, type Plan } from "./plan.ts";

/** The number of calls that an approval of several calls covers by default. */
export const DEFAULT_AT_MOST = 20;
export const MAX_AT_MOST = 1_000_000;

/** The calls that an answer approves. */
export type ApprovalScope = Pick<ApprovalAnswer, "decision" | "except" | "atMost" | "calls" | "kept">;

/** A person's choice, as entered. */
interface ChosenScope {
  /** `all`: any call of the tool in this run. `like`: calls with the same arguments. */
  calls: "all" | "like";
  /** With `like`: the arguments that may differ, each as `name=pattern`. */
  except?: readonly string[];
  /** A whole number, also as text. Defaults to `DEFAULT_AT_MOST`. */
  atMost?: unknown;
}

/** The chosen scope, or why the choice is not valid. @param args the arguments of the call. */
export function parseScope(
  { calls, except = [], atMost }: ChosenScope,
  args: unknown,
): { ok: true; scope: ApprovalScope } | { ok: false; of: "at-most" | "like"; why: string } {
  const count = atMost === undefined ? DEFAULT_AT_MOST : readCount(atMost);
  if (!Number.isInteger(count) || count < 1 || count > MAX_AT_MOST)
    return {
      ok: false,
      of: "at-most",
      why: `'${(JSON.stringify(atMost) ?? "").replace(/^"|"$/g, "").slice(0, 40)}' is not a whole number from 1 to ${MAX_AT_MOST}`,
    };
  if (calls === "all") return { ok: true, scope: { decision: "run", atMost: count } };
  if (except.length > MAX_PATTERN_MEMBERS)
    return { ok: false, of: "like", why: `at most ${MAX_PATTERN_MEMBERS} arguments may differ` };
  const names = typeof args === "object" && args !== null && !Array.isArray(args) ? Object.keys(args) : [];
  const patterns: [string, string][] = [];
  for (const text of except) {
    const at = text.indexOf("=");
    const name = text.slice(0, at);
    if (at < 1 || text.length > MAX_PATTERN_CHARS)
      return {
        ok: false,
        of: "like",
        why: `'${text.slice(0, 40)}' is not an argument's name, \`=\` and a pattern`,
      };
    if (!names.includes(name))
      return {
        ok: false,
        of: "like",
        why: `the call has no argument '${name.slice(0, 40)}'; it has ${names.join(", ").slice(0, 300) || "none"}`,
      };
    patterns.push([name, text.slice(at + 1)]);
  }
  return { ok: true, scope: { decision: "run", except: Object.fromEntries(patterns), atMost: count } };
}

function readCount(given: unknown): number {
  if (typeof given === "string") return /^\d+$/.test(given) ? Number(given) : Number.NaN;
  return typeof given === "number" ? given : Number.NaN;
}

/** The numbers of the calls that an answer can approve, from 1. */
export function approvableCalls({ calls }: Plan): number[] {
  return calls.flatMap((call, index) => (isApprovable(call) ? [index + 1] : []));
}

/** The numbers of the calls with values that late reads bring. An answer can approve such a call, or keep it for a question of its own. */
export function keepableCalls(plan: Plan): number[] {
  return approvableCalls(plan).filter((number) => {
    const call = plan.calls[number - 1];
    return number > 1 && call !== undefined && hasLateValue(call);
  });
}

/** What somebody chose of a plan. */
export interface ChosenCalls {
  /** The numbers of the approved calls. */
  readonly calls: readonly number[];
  /** The numbers of the calls that are asked about by themselves once their late values are known. */
  readonly kept?: readonly number[] | undefined;
}

/** An answer to the question of a plan. All calls that could be approved, and are neither approved nor kept, are denied. */
export function planAnswer(plan: Plan, { calls: chosen, kept = [] }: ChosenCalls): PlanAnswer {
  const later = keepableCalls(plan).filter((number) => kept.includes(number));
  const calls = approvableCalls(plan).filter((number) => chosen.includes(number) && !later.includes(number));
  return {
    decision: calls.includes(1) ? "once" : "denied",
    calls,
    ...(later.length === 0 ? {} : { kept: later }),
  };
}

export interface PlanAnswer {
  decision: "once" | "denied";
  calls: readonly number[];
  kept?: readonly number[];
}

/**
 * Reads which calls of a plan somebody chose: `all`, `none`, or numbers and ranges such as `1-4, 6`. A question mark after a number or
 * a range keeps its calls for questions of their own, and `all?` keeps every call that can be kept. `undefined` for any other text, and
 * for a number that is not that of a call which can be approved, or kept.
 */
export function readChosen(text: string, plan: Plan): ChosenCalls | undefined {
  const word = text.trim().toLowerCase();
  const [approvable, keepable] = [approvableCalls(plan), keepableCalls(plan)];
  if (word === "all") return { calls: approvable };
  if (word === "all?")
    return { calls: approvable.filter((number) => !keepable.includes(number)), kept: keepable };
  if (word === "none") return { calls: [] };
  const [calls, kept] = [new Set<number>(), new Set<number>()];
  for (const piece of word.split(/[\s,]+/)) {
    const [, from, to = from, mark] = /^(\d{1,6})(?:-(\d{1,6}))?(\?)?$/.exec(piece) ?? [];
    const [first, last] = [Number(from), Number(to)];
    if (from === undefined || !(first >= 1 && first <= last && last <= plan.calls.length)) return undefined;
    for (let number = first; number <= last; number++) (mark === undefined ? calls : kept).add(number);
  }
  const isValid =
    [...calls].every((number) => approvable.includes(number) && !kept.has(number)) &&
    [...kept].every((number) => keepable.includes(number));
  if (!isValid) return undefined;
  return { calls: [...calls], ...(kept.size === 0 ? {} : { kept: [...kept] }) };
}
