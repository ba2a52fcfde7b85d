import { createHash } from "node:crypto";

/** Thrown for a value that JSON cannot carry. */
export class CanonicalJsonError extends Error {
  override readonly name = "CanonicalJsonError";
}

/**
 * Serialises a JSON value by RFC 8785 (JCS): members sorted by UTF-16 code units, numbers and strings as ECMAScript
 * prints them, no white space. Members whose value is `undefined` are left out, as in `JSON.stringify`. One departure:
 * a lone surrogate, where the RFC demands an error, is escaped, because a digest must exist for whatever a tool returns.
 *
 * @throws CanonicalJsonError for NaN, infinities, functions, symbols, BigInts and `undefined` at the top.
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      if (!Number.isFinite(value)) throw new CanonicalJsonError(`${value} is not a JSON number`);
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      break;
    default:
      throw new CanonicalJsonError(`a ${typeof value} is not a JSON value`);
  }
  if (value === null) return "null";
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, member]) => `${canonicalJson(name)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/** `sha256:<hex>` over the canonical JSON of a value. */
export function digestOf(value: unknown): string {
  return `sha256:${createHash("sha256").update(canonicalJson(value)).digest("hex")}`;
}
