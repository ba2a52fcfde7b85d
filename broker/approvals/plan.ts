import { isObject, writeJson } from "../../base/json.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { describeShape, findShape, hasShape, type Shape } from "./shape.ts";

/** A step into JSON: a member's name or an index. */
export type Step = string | number;

/** A part of the answer to an earlier call of the plan. */
export interface AnswerPart {
  /** The number of the call in the plan, from 1. */
  readonly call: number;
  readonly path: readonly Step[];
}

/** A part of what a read brings that the program makes only after a change of the plan. */
export interface ReadPart {
  /** The number of the read among those of the plan, from 1. */
  readonly read: number;
  /** The tool of the read, and how many calls of the plan have ended before it, as in `PlannedRead`. */
  readonly tool: string;
  readonly after: number;
  /** The place of the text or the number in its answer. */
  readonly path: readonly Step[];
  /** The form of the part. Absent if only its type is known. */
  readonly shape?: Shape | undefined;
  /** Which piece of the text that has the form it is, from 1. Absent if it is all of the text or the number. */
  readonly nth?: number | undefined;
  /** The type of the value that the program passes. */
  readonly type: "string" | "number";
}

/** A value of a call that is known once earlier calls are answered: texts, and parts of their answers. */
export interface OpenValue {
  /** Its place in the arguments. */
  readonly path: readonly Step[];
  readonly parts: readonly (string | AnswerPart | ReadPart)[];
}

/** A read that the program makes only after a change of the plan, and that brings values of later calls. */
export interface PlannedRead {
  readonly tool: string;
  readonly definitionDigest: string;
  /** The digest of the arguments with `null` for each open value. */
  readonly argumentsDigest: string;
  readonly open: readonly OpenValue[];
  /** How many calls of the plan have ended before. */
  readonly after: number;
}

/** What a plan takes for granted of the answer to an earlier call: a truth value, or one of some choices. */
export interface Assumption {
  /** The number of the call in the plan, from 1. */
  readonly call: number;
  readonly path: readonly Step[];
  /** The value that the rehearsals had there. */
  readonly is: string | number | boolean | null;
}

/** A call that a program will make and that may change something. */
export interface PlannedCall {
  readonly tool: string;
  /** The configured name of its server. */
  readonly server: string;
  readonly definitionDigest: string;
  /** The arguments. A text in angle brackets stands for each open and each undecided value. */
  readonly arguments: unknown;
  /** The digest of the arguments with `null` for each open and each undecided value. */
  readonly argumentsDigest: string;
  /** The values that earlier calls of the plan answer, or reads that come after these. */
  readonly open: readonly OpenValue[];
  /** The places of values of which nobody knows where they come from. A call that has any is asked about by itself. */
  readonly undecided: readonly (readonly Step[])[];
  /** What earlier calls have to answer for the program to come to this call. Absent if it comes to it in any case. */
  readonly when?: readonly Assumption[] | undefined;
  /** How many times the program makes the same call again if it fails. Absent if it does not. */
  readonly again?: number | undefined;
  /** Whether a person has to approve it. */
  readonly asks: boolean;
  /** What asks about it: an entry of `ptc.yaml`, or a rule by its place. */
  readonly rule?: string | undefined;
  /** Why that rule asks. */
  readonly reason?: string | undefined;
  /** How many calls of the plan have ended before the program makes this one. */
  readonly after: number;
}

/** What a program will change: its calls in order, of which the first is the one that is asked about. */
export interface Plan {
  /** Identifies the plan. An approval counts for the plan with this digest. */
  readonly digest: string;
  readonly calls: readonly PlannedCall[];
  /** The late reads that bring values of the calls; absent if none does. */
  readonly reads?: readonly PlannedRead[] | undefined;
  /** Why more calls may follow, phrased to follow "more may follow:"; absent if the program makes these calls and no other. */
  readonly more?: string | undefined;
}

/** Makes a plan of calls. */
export function planOf(
  calls: readonly PlannedCall[],
  more?: string,
  reads: readonly PlannedRead[] = [],
): Plan {
  const about = calls.map((call) => [
    ...[call.tool, call.definitionDigest, call.argumentsDigest, call.asks, call.after],
    ...[call.open, call.undecided, call.rule ?? null],
    ...(call.when === undefined && call.again === undefined ? [] : [call.when ?? null, call.again ?? null]),
  ]);
  const digest = digestOf(reads.length === 0 ? about : [about, reads]);
  return {
    digest,
    calls,
    ...(reads.length === 0 ? {} : { reads }),
    ...(more === undefined ? {} : { more }),
  };
}

/** Whether a value of a call is one that a late read brings. */
export function hasLateValue({ open }: Pick<PlannedCall, "open">): boolean {
  return open.some(({ parts }) => parts.some((part) => typeof part !== "string" && "read" in part));
}

/** Whether an answer to the question of a plan can approve a call of it. */
export function isApprovable({ asks, undecided }: PlannedCall): boolean {
  return asks && undecided.length === 0;
}

/** A plan whose arguments a person may see. It is for showing alone: forms of late values are not those that answers are held against. */
export function withArguments(plan: Plan, shown: (args: unknown) => unknown): Plan {
  const text = (value: string) => String(shown(value));
  const part = (each: OpenValue["parts"][number]) => {
    if (typeof each === "string") return text(each);
    if (!("read" in each) || each.shape === undefined) return each;
    // What is the same in every answer stands in the form as it is.
    return { ...each, shape: each.shape.map((run) => (typeof run === "string" ? text(run) : run)) };
  };
  const open = (values: PlannedCall["open"]) =>
    values.map(({ path, parts }) => ({ path, parts: parts.map(part) }));
  return {
    ...plan,
    calls: plan.calls.map((call) => ({
      ...call,
      arguments: shown(call.arguments),
      open: open(call.open),
    })),
  };
}

/** The value at a place; `undefined` where there is none. */
export function valueAt(value: unknown, path: readonly Step[]): unknown {
  let at = value;
  for (const step of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<Step, unknown>)[step];
  }
  return at;
}

/** A copy with other values at some places. What is not there stays away. */
export function withValues(
  value: unknown,
  places: readonly { readonly path: readonly Step[]; readonly value: unknown }[],
): unknown {
  if (places.length === 0) return value;
  const own = places.find(({ path }) => path.length === 0);
  if (own !== undefined) return own.value;
  const within = (step: Step) =>
    places
      .filter(({ path }) => path[0] === step)
      .map((place) => ({ path: place.path.slice(1), value: place.value }));
  if (Array.isArray(value)) return value.map((item: unknown, index) => withValues(item, within(index)));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withValues(member, within(name))]),
  );
}

/** The arguments with `null` at the places whose values are not known yet. */
export function withoutOpen(
  args: unknown,
  { open, undecided }: Pick<PlannedCall, "open" | "undecided">,
): unknown {
  const paths = [...open.map(({ path }) => path), ...undecided];
  return withValues(
    args,
    paths.map((path) => ({ path, value: null })),
  );
}

/** An open value, once the answers are there; `undefined` if it is in none of them. */
export function resolveValue(
  parts: OpenValue["parts"],
  answerTo: (call: number) => unknown,
  broughtBy: (read: number) => unknown = () => undefined,
): string | number | undefined {
  const values = parts.map((part) => {
    if (typeof part === "string") return part;
    return "read" in part ? partOfRead(part, broughtBy(part.read)) : valueAt(answerTo(part.call), part.path);
  });
  if (!values.every((value) => typeof value === "string" || typeof value === "number")) return undefined;
  const [only] = values;
  return values.length === 1 ? only : values.join("");
}

/** The longest text of which only the type is known. */
const MAX_UNKNOWN_CHARS = 1_000;

/** The part of a late read's answer; `undefined` if it has none at that place, or of that form. */
function partOfRead({ path, shape, nth, type }: ReadPart, answer: unknown): string | number | undefined {
  const value = valueAt(answer, path);
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = String(value);
  const whole = shape === undefined ? text.length <= MAX_UNKNOWN_CHARS : hasShape(shape, text);
  const part =
    nth === undefined || shape === undefined ? (whole ? text : undefined) : findShape(shape, text)[nth - 1];
  if (part === undefined) return undefined;
  if (type === "string") return part;
  const number = Number(part);
  return part.trim() === "" || !Number.isFinite(number) ? undefined : number;
}

/** A part of an answer in words, such as `number of call 3`. */
export function describePart(part: AnswerPart | ReadPart): string {
  if ("read" in part) return describeReadPart(part);
  const { call, path } = part;
  const place = describePath(path);
  return place === "" ? `what call ${call} answers` : `${place} of what call ${call} answers`;
}

/** A part of a late read's answer in words, such as `from mcp__mail__search after call 2, mails[0].text, six digits`. */
function describeReadPart({ tool, after, path, shape, nth, type }: ReadPart): string {
  const form = shape === undefined ? (type === "number" ? "a number" : "a text") : describeShape(shape);
  const place = describePath(path);
  return [
    `from ${tool} after call ${after}`,
    ...(place === "" ? [] : [place]),
    nth === undefined || nth === 1 ? form : `${form}, number ${nth} of that form`,
  ].join(", ");
}

/** An assumption in words, such as `ok of what call 3 answers is true`. */
export function describeAssumption({ is, ...part }: Assumption): string {
  const value =
    typeof is === "string" ? `${JSON.stringify(is.slice(0, MAX_NAMED_CHARS))}${rest(is)}` : writeJson(is);
  return `${describePart(part)} is ${value}`;
}

/** How much is shown of a choice, and of a member's name in a place: both are a server's words. */
const MAX_NAMED_CHARS = 100;

function rest({ length }: string): string {
  return length > MAX_NAMED_CHARS ? ` ... (${length - MAX_NAMED_CHARS} more characters)` : "";
}

/** A place in arguments in words, such as `items[0].id`. */
export function describePath(path: readonly Step[]): string {
  return path.reduce<string>(
    (text, step) =>
      typeof step === "number"
        ? `${text}[${step}]`
        : `${text}${text === "" ? "" : "."}${step.slice(0, MAX_NAMED_CHARS)}${rest(step)}`,
    "",
  );
}

/** Whether two values are the same JSON. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return writeJson(one) === writeJson(other);
}
