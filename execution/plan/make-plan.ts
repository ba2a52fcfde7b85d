import { isObject } from "../../base/json.ts";
import {
  describePart,
  isSameJson,
  type OpenValue,
  type Plan,
  type PlannedCall,
  planOf,
  resolveValue,
  type Step,
  valueAt,
  withoutOpen,
  withValues,
} from "../../broker/approvals/plan.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import type { MarkedPlace } from "./stand-ins.ts";

/** A call of a rehearsal that was not made because it may change something. */
export interface NotedCall {
  /** The number of the call within the rehearsal, from 1. */
  readonly seq: number;
  readonly tool: string;
  readonly server: string;
  readonly definitionDigest: string;
  readonly arguments: unknown;
  readonly asks: boolean;
  readonly rule?: string | undefined;
  readonly reason?: string | undefined;
  readonly after: number;
}

/** The same call in the second rehearsal, whose stand-ins were others. */
export interface OtherCall {
  readonly arguments: unknown;
}

export interface Rehearsed {
  /** The calls that were not made, the one in question first. */
  readonly calls: readonly NotedCall[];
  /** The number of the call in question, whose arguments are known; absent if there is no question. */
  readonly asked?: number | undefined;
  /** The values of the first stand-ins, and their places. */
  readonly marks: ReadonlyMap<string, MarkedPlace>;
  /** The second rehearsal, if there was one: the same calls, and the stand-ins that it gave for calls by their `seq`. */
  readonly other?:
    | { readonly calls: ReadonlyMap<number, OtherCall>; readonly answers: ReadonlyMap<number, unknown> }
    | undefined;
  /** Why more calls may follow. */
  readonly more?: string | undefined;
}

/** The largest arguments of all calls of a plan together. A plan ends before a call that would exceed it. */
const MAX_ARGUMENT_CHARS = 512 * 1024;
const MAX_LEAVES = 2_000;
/** The most calls of a plan: a question shows all of them. */
const MAX_PLANNED = 100;

/**
 * Makes the plan of what two rehearsals came to. A value that is the same in both is known. A value that differs is open if it is made
 * of parts of earlier answers in both, and otherwise undecided. The plan ends before the first call that only one of them made.
 */
export function makePlan({ calls, asked, marks, other, more }: Rehearsed): Plan {
  const numbers = new Map(calls.map(({ seq }, index) => [seq, index + 1]));
  const planned: PlannedCall[] = [];
  let why = more;
  let chars = 0;
  for (const [index, call] of calls.entries()) {
    const again = call.seq === asked ? { arguments: call.arguments } : other?.calls.get(call.seq);
    if (again === undefined) {
      why = "whether further calls are made depends on what the calls before them answer";
      break;
    }
    if (index >= MAX_PLANNED) {
      why = `a plan has ${MAX_PLANNED} calls at most`;
      break;
    }
    chars += JSON.stringify(call.arguments ?? null).length;
    if (index > 0 && chars > MAX_ARGUMENT_CHARS) {
      why = "the arguments of all calls together are too large to be shown";
      break;
    }
    planned.push(plannedCall(call, again, { marks, numbers, answers: other?.answers ?? new Map() }));
  }
  return planOf(planned, why);
}

function plannedCall(
  call: NotedCall,
  again: OtherCall,
  known: {
    marks: Rehearsed["marks"];
    numbers: ReadonlyMap<number, number>;
    answers: ReadonlyMap<number, unknown>;
  },
): PlannedCall {
  const open: OpenValue[] = [];
  const undecided: Step[][] = [];
  const seqOf = new Map([...known.numbers].map(([seq, number]) => [number, seq]));
  for (const path of differences(call.arguments, again.arguments)) {
    const parts = partsOf(valueAt(call.arguments, path), known);
    const resolved =
      parts && resolveValue(parts, (number) => known.answers.get(seqOf.get(number) ?? Number.NaN));
    if (parts !== undefined && resolved !== undefined && isSameJson(resolved, valueAt(again.arguments, path)))
      open.push({ path, parts });
    else undecided.push(path);
  }
  const { tool, server, definitionDigest, asks, rule, reason, after } = call;
  const shown = [
    ...open.map(({ path, parts }) => ({ path, value: textOfParts(parts) })),
    ...undecided.map((path) => ({ path, value: "<decided later>" })),
  ];
  return {
    ...{ tool, server, definitionDigest, open, undecided, asks, after },
    ...(rule === undefined ? {} : { rule }),
    ...(reason === undefined ? {} : { reason }),
    arguments: withValues(call.arguments, shown),
    argumentsDigest: digestOf(withoutOpen(call.arguments, { open, undecided }) ?? null),
  };
}

function textOfParts(parts: OpenValue["parts"]): string {
  return parts.map((part) => (typeof part === "string" ? part : `<${describePart(part)}>`)).join("");
}

/** The texts and the parts of stand-ins of which a value is made; `undefined` if no part of a stand-in is in it. */
function partsOf(
  value: unknown,
  { marks, numbers }: { marks: Rehearsed["marks"]; numbers: ReadonlyMap<number, number> },
): OpenValue["parts"] | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  let rest = String(value);
  const parts: OpenValue["parts"][number][] = [];
  while (rest !== "") {
    let first: { at: number; mark: string; place: MarkedPlace } | undefined;
    for (const [mark, place] of marks) {
      const at = rest.indexOf(mark);
      if (at >= 0 && (first === undefined || at < first.at)) first = { at, mark, place };
    }
    if (first === undefined) {
      parts.push(rest);
      break;
    }
    const call = numbers.get(first.place.call);
    if (call === undefined) return undefined;
    if (first.at > 0) parts.push(rest.slice(0, first.at));
    parts.push({ call, path: first.place.path });
    rest = rest.slice(first.at + first.mark.length);
  }
  return parts.some((part) => typeof part !== "string") ? parts : undefined;
}

/** The places at which two values differ: those of the smallest parts that both have. */
function differences(one: unknown, other: unknown): Step[][] {
  const found: Step[][] = [];
  const compare = (a: unknown, b: unknown, path: Step[]) => {
    if (isSameJson(a, b)) return;
    const areLists = Array.isArray(a) && Array.isArray(b) && a.length === b.length;
    const areAlike = isObject(a) && isObject(b) && isSameJson(Object.keys(a).sort(), Object.keys(b).sort());
    if (found.length < MAX_LEAVES && areLists)
      for (const index of a.keys()) compare(a[index], b[index], [...path, index]);
    else if (found.length < MAX_LEAVES && areAlike)
      for (const name of Object.keys(a)) compare(a[name], b[name], [...path, name]);
    else found.push(path);
  };
  compare(one, other, []);
  return found;
}
