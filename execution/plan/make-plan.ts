import { isObject, writeJson } from "../../base/json.ts";
import { describePlanned } from "../../broker/approvals/approval-text.ts";
import {
  type AnswerPart,
  type Assumption,
  describePart,
  isSameJson,
  type OpenValue,
  type Plan,
  type PlannedCall,
  type PlannedRead,
  planOf,
  type ReadPart,
  resolveValue,
  type Step,
  valueAt,
  withoutOpen,
  withValues,
} from "../../broker/approvals/plan.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { type FoundPart, type LateRead, LateValues } from "./late-reads.ts";
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
  /** The reads that came after a change. */
  readonly reads?: readonly LateRead[] | undefined;
  /** The second rehearsal, if there was one: the same calls, and the stand-ins that it gave for calls by their `seq`. */
  readonly other?:
    | { readonly calls: ReadonlyMap<number, OtherCall>; readonly answers: ReadonlyMap<number, unknown> }
    | undefined;
  /** The calls that are made once more if they fail, by their numbers in the rehearsal. */
  readonly madeAgain?: ReadonlySet<number> | undefined;
  /** Why more calls may follow. */
  readonly more?: string | undefined;
}

/** How long the calls of a plan are together, as a person is shown them. A plan ends before a call that would exceed it. */
const MAX_SHOWN_CHARS = 512 * 1024;
/** On how many answers' values a call of a plan depends at most. A person has to read all of them. */
const MAX_CONDITIONS = 10;
const MAX_LEAVES = 2_000;
/** The most calls of a plan: a question shows all of them. */
const MAX_PLANNED = 100;

/**
 * Makes the plan of what two rehearsals came to. A value that is the same in both is known. A value that differs is open if it is made
 * of parts of earlier answers in both, and otherwise undecided. The plan ends before the first call that only one of them made.
 */
export function makePlan(rehearsed: Rehearsed): Plan {
  const { calls, asked, other, more, madeAgain } = rehearsed;
  const origins = new Origins(rehearsed);
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
    // Larger arguments are not looked into for where their values come from.
    if (index > 0 && chars + sizeOf(call.arguments) > MAX_SHOWN_CHARS) {
      why = TOO_LARGE;
      break;
    }
    const next = plannedCall(call, again, origins, madeAgain?.has(call.seq));
    chars += shownChars(next);
    if (index > 0 && chars > MAX_SHOWN_CHARS) {
      why = TOO_LARGE;
      break;
    }
    planned.push(next);
  }
  return planOf(planned, why, origins.reads);
}

const TOO_LARGE = "all calls together are too large to be shown";

function sizeOf(args: unknown): number {
  return writeJson(args ?? null).length;
}

function shownChars(call: PlannedCall): number {
  return describePlanned(call).reduce((chars, line) => chars + line.length, sizeOf(call.arguments));
}

/** Whether a plan ends, or leaves something undecided, for more than the bounds of plans. */
export function isCutShort({ calls, more }: Plan): boolean {
  return more !== undefined || calls.some(({ undecided }) => undecided.length > 0);
}

/**
 * The plan of a program that does something else where the choices in stand-ins are others: what both plans have at first, and then
 * what the plan has whose rehearsals had the same choices, on condition that the real answers have them too. It ends before a call with
 * more conditions than a person can weigh: each is a choice of an earlier answer, and a server's type may have thousands.
 *
 * @param plan of rehearsals that had other choices.
 * @param alike of rehearsals that had the same choices.
 * @param choices those of the answers to the calls, by the numbers of the calls in both plans.
 */
export function withAssumptions(plan: Plan, alike: Plan, choices: readonly Assumption[]): Plan {
  const parts = alike.calls.findIndex((call, index) => !isSameJson(call, plan.calls[index] ?? null));
  if (parts < 1) return plan;
  const calls: PlannedCall[] = [];
  let chars = 0;
  let why: string | undefined;
  for (const [index, call] of alike.calls.entries()) {
    const when = index < parts ? [] : choices.filter((each) => each.call <= Math.min(call.after, index));
    const next = when.length === 0 ? call : { ...call, when };
    chars += when.length > MAX_CONDITIONS ? 0 : shownChars(next);
    if (when.length > MAX_CONDITIONS)
      why = `a further call depends on more than ${MAX_CONDITIONS} values of what the calls before it answer`;
    else if (index > 0 && chars > MAX_SHOWN_CHARS) why = TOO_LARGE;
    if (why !== undefined) break;
    calls.push(next);
  }
  if (!calls.some(({ when }) => when !== undefined)) return plan;
  const more =
    why ??
    alike.more ??
    "if a call answers something other than what the plan assumes, the program may do something else";
  return planOf(calls, more, alike.reads);
}

function plannedCall(call: NotedCall, other: OtherCall, origins: Origins, isMadeAgain = false): PlannedCall {
  const { open, undecided } = origins.ofArguments(call.seq, call.arguments, other.arguments);
  const { tool, server, definitionDigest, asks, rule, reason, after } = call;
  const shown = [
    ...open.map(({ path, parts }) => ({ path, value: textOfParts(parts) })),
    ...undecided.map((path) => ({ path, value: "<decided later>" })),
  ];
  return {
    ...{ tool, server, definitionDigest, open, undecided, asks, after },
    ...(rule === undefined ? {} : { rule }),
    ...(reason === undefined ? {} : { reason }),
    ...(isMadeAgain && asks && undecided.length === 0 ? { again: 1 } : {}),
    arguments: withValues(call.arguments, shown),
    argumentsDigest: digestOf(withoutOpen(call.arguments, { open, undecided }) ?? null),
  };
}

function textOfParts(parts: OpenValue["parts"]): string {
  return parts.map((part) => (typeof part === "string" ? part : `<${describePart(part)}>`)).join("");
}

type Part = OpenValue["parts"][number];

/** Finds where the values come from that differ between two rehearsals, and numbers the late reads that bring any. */
class Origins {
  /** The late reads that bring values, in the order of their numbers. */
  readonly reads: PlannedRead[] = [];
  readonly #marks: Rehearsed["marks"];
  /** The numbers of calls in the plan. */
  readonly #numbers: ReadonlyMap<number, number>;
  readonly #seqOf: ReadonlyMap<number, number>;
  readonly #other: Rehearsed["other"];
  readonly #lateReads: readonly LateRead[];
  /** The numbers of late reads by those of their calls; `undefined` for one whose own arguments are not known. */
  readonly #readNumbers = new Map<number, number | undefined>();

  constructor({ calls, marks, other, reads = [] }: Rehearsed) {
    this.#marks = marks;
    this.#numbers = new Map(calls.map(({ seq }, index) => [seq, index + 1]));
    this.#seqOf = new Map([...this.#numbers].map(([seq, number]) => [number, seq]));
    this.#other = other;
    this.#lateReads = reads;
  }

  /** @param seq the number of the call. Only reads before it bring its values. */
  ofArguments(seq: number, one: unknown, two: unknown): { open: OpenValue[]; undecided: Step[][] } {
    const open: OpenValue[] = [];
    const undecided: Step[][] = [];
    const late = new LateValues(this.#lateReads.filter((read) => read.seq < seq));
    for (const path of differences(one, two)) {
      const parts = this.#partsOf(valueAt(one, path), valueAt(two, path), late);
      if (parts === undefined) undecided.push(path);
      else open.push({ path, parts });
    }
    return { open, undecided };
  }

  /** The texts and the parts of answers of which a value is made in both rehearsals; `undefined` if anything of it is of neither. */
  #partsOf(one: unknown, two: unknown, late: LateValues): Part[] | undefined {
    if (!isScalar(one) || !isScalar(two) || typeof one !== typeof two) return undefined;
    const whole = late.whole(one, two);
    if (whole !== undefined) {
      const part = this.#readPart(whole);
      return part && [part];
    }
    const marked = this.#markedParts(String(one));
    if (marked === undefined) return undefined;
    const [only] = marked;
    // A number that is not the whole of a part was computed of it.
    if (typeof one === "number" && marked.length > 1) return undefined;
    const parts: Part[] = [];
    let rest = String(two);
    for (const part of marked) {
      if (typeof part !== "string") {
        const value = resolveValue([part], (number) =>
          this.#other?.answers.get(this.#seqOf.get(number) ?? -1),
        );
        if (value === undefined || !rest.startsWith(String(value))) return undefined;
        if (part === only && marked.length === 1 && typeof value !== typeof one) return undefined;
        parts.push(part);
        rest = rest.slice(String(value).length);
        continue;
      }
      const again = rest.slice(0, part.length);
      rest = rest.slice(part.length);
      const pieces = part === again ? [part] : late.pieces(part, again);
      for (const piece of pieces ?? [undefined]) {
        const own = typeof piece === "object" ? this.#readPart(piece) : piece;
        if (own === undefined) return undefined;
        const isNumber = typeof one === "number" && typeof own === "object" && pieces?.length === 1;
        if (typeof one === "number" && !isNumber) return undefined;
        parts.push(isNumber && "read" in own ? { ...own, type: "number" } : own);
      }
    }
    return rest === "" && parts.some((part) => typeof part !== "string") ? parts : undefined;
  }

  /** The texts and the parts of stand-ins of which a text is made. */
  #markedParts(text: string): (string | AnswerPart)[] | undefined {
    let rest = text;
    const parts: (string | AnswerPart)[] = [];
    while (rest !== "") {
      let first: { at: number; mark: string; place: MarkedPlace } | undefined;
      for (const [mark, place] of this.#marks) {
        const at = rest.indexOf(mark);
        if (at >= 0 && (first === undefined || at < first.at)) first = { at, mark, place };
      }
      if (first === undefined) {
        parts.push(rest);
        break;
      }
      const call = this.#numbers.get(first.place.call);
      if (call === undefined) return undefined;
      if (first.at > 0) parts.push(rest.slice(0, first.at));
      parts.push({ call, path: first.place.path });
      rest = rest.slice(first.at + first.mark.length);
    }
    return parts;
  }

  #readPart({ seq, ...part }: FoundPart): ReadPart | undefined {
    const number = this.#numberOf(seq);
    const read = number === undefined ? undefined : this.reads[number - 1];
    if (number === undefined || read === undefined) return undefined;
    return { read: number, tool: read.tool, after: read.after, ...part };
  }

  /** The number of a late read among those of the plan. */
  #numberOf(seq: number): number | undefined {
    if (this.#readNumbers.has(seq)) return this.#readNumbers.get(seq);
    const read = this.#lateReads.find((each) => each.seq === seq);
    const again = this.#other?.calls.get(seq);
    if (read === undefined || again === undefined) return undefined;
    const { open, undecided } = this.ofArguments(seq, read.arguments, again.arguments);
    const number = undecided.length === 0 ? this.reads.length + 1 : undefined;
    if (number !== undefined)
      this.reads.push({
        ...{ tool: read.tool.namespacedName, definitionDigest: read.tool.definitionDigest },
        argumentsDigest: digestOf(withoutOpen(read.arguments, { open, undecided }) ?? null),
        ...{ open, after: read.after },
      });
    this.#readNumbers.set(seq, number);
    return number;
  }
}

function isScalar(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
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
