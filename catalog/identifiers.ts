import { byCodeUnit, digestOf } from "../protocol/canonical-json.ts";
import { MAX_IDENTIFIER_CHARS } from "./model/limits.ts";

/** Names that no exported function may have: words of the language, and names with a meaning in programs. */
const RESERVED: ReadonlySet<string> = new Set(
  [
    "abstract any arguments as asserts async await bigint boolean break case catch class const constructor continue",
    "debugger declare default delete do else enum eval export extends false finally for from function get global if",
    "implements import in infer instanceof interface is keyof let module namespace never new null number object of",
    "override package private protected public readonly require return satisfies set static string super switch",
    "symbol this throw true try type typeof undefined unique unknown using var void while with yield",
    "hasOwnProperty isPrototypeOf propertyIsEnumerable prototype then toLocaleString toString valueOf __proto__",
    "callTool data exports parallel result tool",
    "atob btoa clearImmediate clearInterval clearTimeout console crypto escape fetch globalThis isFinite isNaN",
    "navigator parseFloat parseInt performance process queueMicrotask setImmediate setInterval setTimeout",
    "structuredClone unescape decodeURI encodeURI decodeURIComponent encodeURIComponent localStorage sessionStorage",
  ].flatMap((line) => line.split(" ")),
);

const VALID = /^[a-z_][A-Za-z0-9]*(?:_[0-9a-f]*)?$/;

/**
 * Gives every tool of a server a distinct identifier in ASCII that is not a reserved word. The outcome does not depend on the
 * order of the names. If several names would get the same identifier, the name that equals it keeps it, and every other name
 * gets a hash of its exact name. Identifiers that were assigned earlier stay unchanged.
 */
export function assignIdentifiers(
  names: readonly string[],
  previous: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const assigned = new Map<string, string>();
  const taken = new Set<string>();
  const sorted = [...new Set(names)].sort(byCodeUnit);
  for (const name of sorted) {
    const identifier = previous.get(name);
    if (identifier === undefined || taken.has(identifier)) continue;
    if (!isUsable(identifier) || !isIdentifierOf(identifier, name)) continue;
    assigned.set(name, identifier);
    taken.add(identifier);
  }
  const groups = new Map<string, string[]>();
  for (const name of sorted) {
    if (assigned.has(name)) continue;
    const plain = plainIdentifier(name);
    const group = groups.get(plain);
    if (group === undefined) groups.set(plain, [name]);
    else group.push(name);
  }
  for (const [plain, group] of groups) {
    const owner = group.length === 1 ? group[0] : group.find((name) => name === plain);
    for (const name of group) {
      const identifier = name === owner && !taken.has(plain) ? plain : withHash(plain, name, taken);
      assigned.set(name, identifier);
      taken.add(identifier);
    }
  }
  return assigned;
}

/**
 * Whether an identifier was made from a tool's name: it has the same letters and digits, with or without a hash. Any other
 * identifier would make a program look as if it called another tool.
 */
export function isIdentifierOf(identifier: string, name: string): boolean {
  const stem = words(name).join("").toLowerCase() || "tool";
  const isStem = (text: string): boolean => {
    const letters = text.replaceAll("_", "").toLowerCase();
    return letters === stem || (letters.length >= MAX_IDENTIFIER_CHARS - 1 && stem.startsWith(letters));
  };
  return isStem(identifier) || isStem(identifier.replace(/_[0-9a-f]+$/, ""));
}

/** An identifier or any other name in PascalCase, as the stem of type names. Never empty. */
export function pascalCase(name: string): string {
  const stem = words(name)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")
    .slice(0, MAX_IDENTIFIER_CHARS);
  if (stem === "") return "Type";
  return /^[0-9]/.test(stem) ? `_${stem}` : stem;
}

/** Hands out type names of one module, each only once. */
export class NameAllocator {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** Returns `wanted` if it is free, or else `wanted` with a hash of `key`, which must be unique to this use. */
  allocate(wanted: string, key: string): string {
    const name = this.#taken.has(wanted) ? withHash(wanted, key, this.#taken) : wanted;
    this.#taken.add(name);
    return name;
  }
}

function plainIdentifier(name: string): string {
  const [first, ...rest] = words(name);
  if (first === undefined) return withHash("tool", name, new Set());
  const allCapitals = !/[a-z]/.test(name);
  const cased = (word: string): string => (allCapitals ? word.toLowerCase() : word);
  const head = first.replace(/^(?:[A-Z0-9]+$|[A-Z]+(?=[A-Z][a-z])|[A-Z])/, (capitals) =>
    capitals.toLowerCase(),
  );
  const camel = head + rest.map((word) => word.charAt(0).toUpperCase() + cased(word.slice(1))).join("");
  const stem = /^[0-9]/.test(camel) ? `_${camel}` : camel;
  if (stem.length > MAX_IDENTIFIER_CHARS)
    return withHash(stem.slice(0, MAX_IDENTIFIER_CHARS), name, new Set());
  return RESERVED.has(stem) ? `${stem}_` : stem;
}

/** The runs of ASCII letters and digits in a name, after removing accents. */
function words(name: string): string[] {
  return (
    name
      .normalize("NFKD")
      .replace(/\p{M}/gu, "")
      .match(/[A-Za-z0-9]+/g) ?? []
  );
}

function isUsable(identifier: string): boolean {
  return VALID.test(identifier) && identifier.length <= MAX_IDENTIFIER_CHARS * 2 && !RESERVED.has(identifier);
}

function withHash(stem: string, key: string, taken: ReadonlySet<string>): string {
  const hash = digestOf(key).slice("sha256:".length);
  const base = stem.endsWith("_") ? stem : `${stem}_`;
  for (const length of [8, 16, 64]) {
    const candidate = base + hash.slice(0, length);
    if (!taken.has(candidate)) return candidate;
  }
  return withHash(base + hash, `${key} `, taken);
}
