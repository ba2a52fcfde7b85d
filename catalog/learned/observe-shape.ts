import { isObject } from "../../base/json/is-object.ts";
import { hasMemberWord } from "./member-words.ts";
import { mergeShapes } from "./merge-shapes.ts";
import { MAX_SHAPE_DEPTH, NOTHING, type Shape } from "./shape.ts";

/** Elements of one array that are looked at, evenly spread. */
const MAX_ELEMENTS = 200;

/** Members of one object that are looked at. */
const MAX_LOOKED_AT = 1_000;

/** Values within one value that are looked at. What comes after them is as if it were not there. */
const MAX_VALUES = 20_000;

/**
 * The shape of one JSON value, which nobody has bounded.
 *
 * @param words texts that the tool's definition lists as choices. No other text can become part of a shape.
 */
export function observeShape(value: unknown, words: ReadonlySet<string> = new Set()): Shape {
  let left = MAX_VALUES;
  const look = (each: unknown, depth: number): Shape => {
    left--;
    if (each === null || each === undefined) return { seen: 1, isNull: true };
    switch (typeof each) {
      case "boolean":
        return { seen: 1, isBoolean: true };
      case "number":
        return { seen: 1, number: Number.isInteger(each) ? "integer" : "number" };
      case "string": {
        const format = formatOf(each);
        return { seen: 1, string: words.has(each) ? { format, choices: [each] } : { format } };
      }
    }
    if (depth >= MAX_SHAPE_DEPTH) return { seen: 1, isAny: true };
    if (Array.isArray(each)) {
      const items = spread(each).reduce<Shape>(
        (before, item) => (left <= 0 ? before : mergeShapes(before, look(item, depth + 1))),
        NOTHING,
      );
      return { seen: 1, items };
    }
    return isObject(each) ? { seen: 1, object: lookInto(each, depth) } : { seen: 1, isAny: true };
  };
  const lookInto = (object: Record<string, unknown>, depth: number): NonNullable<Shape["object"]> => {
    const members = new Map<string, Shape>();
    let rest: Shape | undefined;
    let looked = 0;
    for (const name of Object.keys(object)) {
      if (left <= 0 || looked++ >= MAX_LOOKED_AT) break;
      const shape = look(object[name], depth + 1);
      if (isDataName(name)) rest = rest === undefined ? shape : mergeShapes(rest, shape);
      else members.set(name, shape);
    }
    const own = { seen: 1, members, ...(rest && { rest }) };
    // Merging makes a map of an object with too many names.
    const merged = mergeShapes(
      { seen: 1, object: own },
      { seen: 0, object: { seen: 0, members: new Map() } },
    );
    return merged.object ?? own;
  };
  return look(value, 0);
}

function spread(items: readonly unknown[]): readonly unknown[] {
  if (items.length <= MAX_ELEMENTS) return items;
  const step = items.length / MAX_ELEMENTS;
  return Array.from({ length: MAX_ELEMENTS }, (_, i) => items[Math.floor(i * step)]);
}

/** What a format looks like. Whether a text has a format reveals nothing of it. */
const FORMATS: readonly (readonly [string, RegExp])[] = [
  ["date-time", /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/],
  ["date", /^\d{4}-\d\d-\d\d$/],
  ["uuid", /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i],
  ["uri", /^https?:\/\/[^\s]{1,2000}$/],
  ["email", /^[^\s@<>]{1,64}@[^\s@<>]{1,255}\.[a-z]{2,24}$/i],
];

/** Longer texts have no format. */
const MAX_CHARS = 2_048;

/** The format of a text as JSON Schema names it; `json` where it is an array or an object as text; else `plain`. */
function formatOf(text: string): string {
  if (text.length > MAX_CHARS) return "plain";
  const format = FORMATS.find(([, pattern]) => pattern.test(text))?.[0];
  return format ?? (isJson(text) ? "json" : "plain");
}

function isJson(text: string): boolean {
  if (!/^\s*(?:\{[\s\S]*\}|\[[\s\S]*\])\s*$/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Longest name that is the name of a member. */
const MAX_NAME_CHARS = 64;

/** Words of letters and digits, joined by `_`, `-` and at most one `:`, as people name members. `@` and `$` may stand in front. */
const MEMBER = /^[@$]?[\p{L}_][\p{L}\p{M}\p{N}_-]*(?::[\p{L}_][\p{L}\p{M}\p{N}_-]*)?$/u;

/**
 * Whether the name of a member looks like data: an id, a date, a number, an address, a path, a sentence, a hash. Such a name is
 * not kept. In doubt a name is data: a member that is missing from a type costs less than an id in it.
 */
export function isDataName(name: string): boolean {
  if (name.length > MAX_NAME_CHARS || !MEMBER.test(name)) return true;
  const digits = name.replace(/\P{N}/gu, "").length;
  if (digits >= 4 || /[-_]\d{2,}$/.test(name)) return true;
  // A ticket or a key: letters in capitals, a hyphen, a number.
  if (/^[A-Z]{2,}-\d+$/.test(name)) return true;
  if (digits > 0 && name.length >= 8 && /^[0-9a-f-]+$/i.test(name)) return true;
  // A short commit, and a handle. `@type` and the like have no digits.
  if (/^(?=.*\d)[0-9a-f]{7,}$/.test(name) || /^@.*\d/.test(name)) return true;
  return isRandomLetters(name) || isRandomCase(name) || name.split(/[^\p{L}\p{N}]+/u).some(isRandomWord);
}

/** Whether capitals come and go as in a token, in what has no word that names of members have. */
function isRandomCase(name: string): boolean {
  return (
    name.split(/[^\p{L}\p{N}]+/u).some((word) => word.length >= 10 && casesIn(word) > word.length / 5) &&
    !hasMemberWord(name)
  );
}

function casesIn(word: string): number {
  return word.match(/\p{Ll}(?=\p{Lu})|\p{Lu}(?=\p{Lu}\p{Ll})/gu)?.length ?? 0;
}

/** Letters, digits, capitals and small letters that follow each other as in a token, and not as in `utf8`, `sha256` or `httpURL`. */
function isRandomWord(word: string): boolean {
  const turns = word.match(/\p{L}(?=\p{N})|\p{N}(?=\p{L})/gu)?.length ?? 0;
  if (/^[A-Z]\d[A-Z\d]{7,}$/.test(word)) return true;
  return turns >= 3 || (word.length >= 10 && turns > 0 && turns + casesIn(word) > word.length / 4);
}

/** Whether capitals and small letters change as often as in a token. */
function isRandomLetters(name: string): boolean {
  if (name.length < 16) return false;
  const changes = name.match(/[a-z](?=[A-Z0-9])|[A-Z0-9](?=[A-Z0-9][a-z])/g)?.length ?? 0;
  const isPlain = /^[\p{Ll}\p{Lo}\p{N}_:@$-]+$/u.test(name) || /^[\p{Lu}\p{N}_:-]+$/u.test(name);
  return !isPlain && changes > name.length / 4;
}
