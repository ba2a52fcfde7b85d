import { hash } from "node:crypto";
import { inTurns, isLight, writeSteps } from "../base/in-turns.ts";

/** Thrown for a value that JSON cannot represent. */
export class CanonicalJsonError extends Error {
  override readonly name = "CanonicalJsonError";
}

/**
 * Serialises a JSON value by RFC 8785 (JCS): members sorted by UTF-16 code units, numbers and strings as ECMAScript
 * prints them, no white space. Omits members whose value is `undefined`, as `JSON.stringify` does. Two departures from the RFC,
 * because every result of a tool needs a digest, and different results different ones: a lone surrogate is escaped instead of causing
 * an error, and a whole number that ECMAScript would round (a BigInt) is written with all digits.
 *
 * @throws CanonicalJsonError for NaN, infinities, functions, symbols and `undefined` at the top.
 */
export function canonicalJson(value: unknown): string {
  return render(value, new Map());
}

/** As `canonicalJson`, with turns of the event loop between the parts of a large value. Rejects as that throws. */
export async function canonicalJsonInTurns(value: unknown): Promise<string> {
  return isLight(value) ? canonicalJson(value) : inTurns(writeSteps(value, canonicalJson, sortedNames));
}

/** As `digestOf`, with turns of the event loop between the parts of a large value. */
export async function digestInTurns(value: unknown): Promise<string> {
  return textDigest(await canonicalJsonInTurns(value));
}

/** `sha256:<hex>` over the canonical JSON of a value. */
export function digestOf(value: unknown): string {
  return textDigest(canonicalJson(value));
}

/** Maximum number of member names that are cached in quoted form. All rows of a table have the same names. */
const MAX_QUOTED_NAMES = 1_000;

/** Allocates nothing but text for each member, because values may have hundreds of thousands of them. */
function render(value: unknown, quotedNames: Map<string, string>): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      if (!Number.isFinite(value)) throw new CanonicalJsonError(`${value} is not a JSON number`);
      return `${value}`;
    case "bigint":
      return `${value}`;
    case "boolean":
      return value ? "true" : "false";
    case "object":
      break;
    default:
      throw new CanonicalJsonError(`a ${typeof value} is not a JSON value`);
  }
  if (value === null) return "null";
  return Array.isArray(value)
    ? renderArray(value, quotedNames)
    : renderObject(value as Record<string, unknown>, quotedNames);
}

function renderArray(items: readonly unknown[], quotedNames: Map<string, string>): string {
  let text = "[";
  for (let i = 0; i < items.length; i++) {
    if (i > 0) text += ",";
    text += render(items[i], quotedNames);
  }
  return `${text}]`;
}

function renderObject(object: Readonly<Record<string, unknown>>, quotedNames: Map<string, string>): string {
  let text = "";
  for (const name of sortedNames(object)) {
    const member = object[name];
    if (member === undefined) continue;
    let quoted = quotedNames.get(name);
    if (quoted === undefined) {
      quoted = `${JSON.stringify(name)}:`;
      if (quotedNames.size < MAX_QUOTED_NAMES) quotedNames.set(name, quoted);
    }
    if (text !== "") text += ",";
    text += quoted;
    text += render(member, quotedNames);
  }
  return `{${text}}`;
}

/** Sorts by UTF-16 code units, as `<` and `sort` compare by default. */
function sortedNames(object: object): string[] {
  const names = Object.keys(object);
  for (let i = 1; i < names.length; i++) {
    if ((names[i] as string) < (names[i - 1] as string)) return names.sort();
  }
  return names;
}

/** `sha256:<hex>` over bytes, or over a text in UTF-8. */
export function textDigest(text: string | Uint8Array): string {
  return `sha256:${hash("sha256", text)}`;
}

/** Compares by UTF-16 code units, so that the order is the same on every machine. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
