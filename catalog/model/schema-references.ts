import { isObject } from "../../base/json.ts";
import { MAX_SCHEMA_NODES } from "./limits.ts";

export type JsonObject = Record<string, unknown>;

/** An own member of a value, never an inherited one. `undefined` if there is none. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as JsonObject)[name]
    : undefined;
}

/**
 * The schemas that `$ref`s in a document point at, each with a name taken from its first pointer. Follows only fragments of the
 * document itself: JSON pointers and plain names (`$anchor`). Never reads or fetches anything else.
 */
export class SchemaReferences {
  readonly #root: unknown;
  readonly #anchors = new Map<string, unknown>();
  readonly #names = new Map<object, string>();

  constructor(root: unknown) {
    this.#root = root;
    const refs: string[] = [];
    let visited = 0;
    const queue: unknown[] = [root];
    for (
      let value = queue.pop();
      value !== undefined && visited < MAX_SCHEMA_NODES * 4;
      value = queue.pop()
    ) {
      visited++;
      if (typeof value !== "object" || value === null) continue;
      const ref = member(value, "$ref");
      if (typeof ref === "string") refs.push(ref);
      for (const [keyword, prefix] of [
        ["$anchor", ""],
        ["$id", "#"],
        ["id", "#"],
      ] as const) {
        const anchor = member(value, keyword);
        if (typeof anchor !== "string" || !anchor.startsWith(prefix)) continue;
        const name = anchor.slice(prefix.length);
        if (name !== "" && !this.#anchors.has(name)) this.#anchors.set(name, value);
      }
      for (const child of Object.values(value))
        if (typeof child === "object" && child !== null) queue.push(child);
    }
    const used = new Set<string>();
    for (const ref of [...new Set(refs)].sort()) {
      const target = this.resolve(ref);
      if (!isObject(target) || this.#names.has(target)) continue;
      const stem = nameOf(ref);
      let name = stem;
      for (let n = 2; used.has(name); n++) name = `${stem}_${n}`;
      used.add(name);
      this.#names.set(target, name);
    }
  }

  /** The target of a `$ref`, or `undefined` if that is not in this document. */
  resolve(ref: string): unknown {
    if (ref === "#") return this.#root;
    if (!ref.startsWith("#")) return undefined;
    if (!ref.startsWith("#/")) return this.#anchors.get(decode(ref.slice(1)));
    let value = this.#root;
    for (const segment of ref.slice(2).split("/")) {
      value = member(value, decode(segment).replaceAll("~1", "/").replaceAll("~0", "~"));
      if (value === undefined) return undefined;
    }
    return value;
  }

  /** The name of a schema that some `$ref` points at. */
  nameOf(schema: object): string | undefined {
    return this.#names.get(schema);
  }
}

/** Keywords in a pointer that say nothing about what it points at. */
const STRUCTURAL = new Set(["items", "properties", "anyOf", "oneOf", "allOf", "$defs", "definitions"]);

function nameOf(ref: string): string {
  const segments = ref.replace(/^#\/?/, "").split("/").map(decode);
  const meaningful = segments.filter((segment) => !STRUCTURAL.has(segment) && !/^[0-9]*$/.test(segment));
  const last = meaningful.at(-1);
  if (last === undefined) return ref === "#" ? "Self" : "Type";
  return segments.at(-1) === "items" ? `${last}_item` : last;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
