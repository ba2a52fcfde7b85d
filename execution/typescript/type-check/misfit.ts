import type { Diagnostic } from "../typescript-api.ts";

/** Why a value does not fit the type that is expected of it. */
export type Misfit =
  | { kind: "excess"; name: string; suggestion: string | undefined }
  | { kind: "missing"; names: string[]; source: string }
  | { kind: "mismatch"; path: string[]; source: string; target: string; suggestion: string | undefined };

const EXCESS = /(?:and|but) '(.+)' does not exist in type .*?(?:Did you mean to write '(.+)'\?)?$/s;
const MISSING_ONE = /^Property '(.+?)' is missing in type '(.*)' but required in type '/s;
const MISSING_SOME = /^Type '(.*)' is missing the following properties from type '.*': (.+)$/s;
const NOTHING_IN_COMMON = /^Type '(.*)' has no properties in common with type '(.*)'\.$/s;
const NOT_ASSIGNABLE =
  /^(?:Type|Argument of type) '(.*)' is not assignable to (?:parameter of )?type '(.*?)'\.(?: Did you mean '(.+)'\?)?$/s;
const NOT_A_FUNCTION = /^Type '.*' provides no match for the signature /s;
const INNER_PATH = /^(?:Types of property|The types of) '(.+)' are incompatible/;

/** Reads a misfit from a diagnostic; `undefined` for one that may well work, such as a read-only array. */
export function readMisfit(diagnostic: Diagnostic): Misfit | undefined {
  const messages = flatten(diagnostic).map(({ text }) => text);
  const path = messages.flatMap((text) => INNER_PATH.exec(text)?.[1]?.split(".") ?? []);
  for (const text of messages) {
    const excess = EXCESS.exec(text);
    if (excess !== null) return { kind: "excess", name: unquote(excess[1] ?? ""), suggestion: excess[2] };
  }
  const leaf = messages.findLast((text) => !NOT_A_FUNCTION.test(text)) ?? "";
  const one = MISSING_ONE.exec(leaf);
  if (one !== null) return { kind: "missing", names: [unquote(one[1] ?? "")], source: one[2] ?? "" };
  const some = MISSING_SOME.exec(leaf);
  if (some !== null) {
    const names = (some[2] ?? "").replace(/, and \d+ more\.?$/, "").split(", ");
    return { kind: "missing", names: names.map(unquote), source: some[1] ?? "" };
  }
  const common = NOTHING_IN_COMMON.exec(leaf);
  if (common !== null) {
    return {
      kind: "mismatch",
      path,
      source: common[1] ?? "",
      target: common[2] ?? "",
      suggestion: undefined,
    };
  }
  const [, source, target, suggestion] = NOT_ASSIGNABLE.exec(leaf) ?? [];
  if (source === undefined || target === undefined || mayFit(source, target)) return undefined;
  const isWide = messages.some((text) => isUnion(NOT_ASSIGNABLE.exec(text)?.[1] ?? ""));
  return isWide ? undefined : { kind: "mismatch", path, source, target, suggestion };
}

/**
 * Whether a value may be valid although its type does not fit: TypeScript widens the types of variables, a date becomes
 * text in JSON, and the type of some values is not known.
 */
function mayFit(source: string, target: string): boolean {
  if (/^(?:unknown|object|Object|\{\}|Date|[A-Z]|T[A-Z]\w*)$/.test(source)) return true;
  if (source === "string") return /["`]/.test(target);
  if (source === "number") return /(?:^|[\s|(])-?\d/.test(target);
  if (source === "boolean") return /\b(?:true|false)\b/.test(target);
  return target.startsWith("Promise<");
}

/** Whether the text of a type has a `|` outside of brackets and strings. */
function isUnion(type: string): boolean {
  let depth = 0;
  for (const [piece] of type.matchAll(/"(?:[^"\\]|\\.)*"|=>|[\s\S]/g)) {
    if ("([{<".includes(piece)) depth++;
    else if (")]}>".includes(piece)) depth--;
    else if (piece === "|" && depth === 0) return true;
  }
  return false;
}

function flatten(diagnostic: Diagnostic): Diagnostic[] {
  return [diagnostic, ...(diagnostic.messageChain ?? []).flatMap(flatten)];
}

function unquote(name: string): string {
  return name.replace(/^(["'])(.*)\1$/s, "$2");
}
