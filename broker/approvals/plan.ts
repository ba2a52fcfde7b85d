import { isObject, writeJson } from "../../base/json.ts";
import { digestOf } from "../../protocol/canonical-json.ts";

/** A step into JSON: a member's name or an index. */
export type Step = string | number;

/** A part of the answer to an earlier call of the plan. */
export interface AnswerPart {
  /** The number of the call in the plan, from 1. */
  readonly call: number;
  readonly path: readonly Step[];
}

/** A value of a call that is known once earlier calls of the plan are answered: texts, and parts of their answers. */
export interface OpenValue {
  /** Its place in the arguments. */
  readonly path: readonly Step[];
  readonly parts: readonly (string | AnswerPart)[];
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
  /** The values that earlier calls of the plan answer. */
  readonly open: readonly OpenValue[];
  /** The places of values of which nobody knows where they come from. A call that has any is asked about by itself. */
  readonly undecided: readonly (readonly Step[])[];
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
  /** Why more calls may follow, phrased to follow "more may follow:"; absent if the program makes these calls and no other. */
  readonly more?: string | undefined;
}

/** Makes a plan of calls. */
export function planOf(calls: readonly PlannedCall[], more?: string): Plan {
  const digest = digestOf(
    calls.map((call) => [
      ...[call.tool, call.definitionDigest, call.argumentsDigest, call.asks, call.after],
      ...[call.open, call.undecided, call.rule ?? null],
    ]),
  );
  return { digest, calls, ...(more === undefined ? {} : { more }) };
}

/** Whether an answer to the question of a plan can approve a call of it. */
export function isApprovable({ asks, undecided }: PlannedCall): boolean {
  return asks && undecided.length === 0;
}

/** A plan whose arguments a person may see. */
export function withArguments(plan: Plan, shown: (args: unknown) => unknown): Plan {
  const open = (values: PlannedCall["open"]) =>
    values.map(({ path, parts }) => ({
      path,
      parts: parts.map((part) => (typeof part === "string" ? String(shown(part)) : part)),
    }));
  return {
    ...plan,
    calls: plan.calls.map((call) => ({
      ...{ ...call, arguments: shown(call.arguments), open: open(call.open) },
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
): string | number | undefined {
  const values = parts.map((part) =>
    typeof part === "string" ? part : valueAt(answerTo(part.call), part.path),
  );
  if (!values.every((value) => typeof value === "string" || typeof value === "number")) return undefined;
  const [only] = values;
  return values.length === 1 ? only : values.join("");
}

/** A part of an answer in words, such as `number of call 3`. */
export function describePart({ call, path }: AnswerPart): string {
  const place = path.reduce<string>(
    (text, step) =>
      typeof step === "number" ? `${text}[${step}]` : `${text}${text === "" ? "" : "."}${step}`,
    "",
  );
  return place === "" ? `what call ${call} answers` : `${place} of what call ${call} answers`;
}

/** A place in arguments in words, such as `items[0].id`. */
export function describePath(path: readonly Step[]): string {
  return path.reduce<string>(
    (text, step) =>
      typeof step === "number" ? `${text}[${step}]` : `${text}${text === "" ? "" : "."}${step}`,
    "",
  );
}

/** Whether two values are the same JSON. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return writeJson(one) === writeJson(other);
}
