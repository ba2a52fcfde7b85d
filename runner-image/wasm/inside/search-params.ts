/** `URLSearchParams` (WHATWG URL, section 6), which the interpreter's own lacks in part, and `searchParams` of `URL`. */

import { type InspectOptions, inspect, stripVTControlCharacters } from "node-inspect-extracted";

type Pair = [name: string, value: string];

/** Between the pairs, where a person reads them. */
const SEPARATOR = ", ";
const WIDTH = 80;
const URL_MEMBERS = [
  "href",
  "origin",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "searchParams",
  "hash",
] as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const KEPT = /[A-Za-z0-9*._-]/;

function encode(text: string): string {
  let encoded = "";
  for (const byte of encoder.encode(text)) {
    const character = String.fromCharCode(byte);
    if (byte === 0x20) encoded += "+";
    else if (KEPT.test(character)) encoded += character;
    else encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

function decode(text: string): string {
  const bytes: number[] = [];
  const from = encoder.encode(text.replaceAll("+", " "));
  for (let at = 0; at < from.length; at++) {
    const hex = from[at] === 0x25 ? String.fromCharCode(...from.subarray(at + 1, at + 3)) : "";
    if (/^[0-9A-Fa-f]{2}$/.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      at += 2;
    } else bytes.push(from[at] ?? 0);
  }
  return decoder.decode(Uint8Array.from(bytes));
}

function parse(text: string): Pair[] {
  return text
    .split("&")
    .filter((part) => part !== "")
    .map((part): Pair => {
      const at = part.indexOf("=");
      return at === -1 ? [decode(part), ""] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
    });
}

function read(init: unknown): Pair[] {
  if (init === undefined || init === null) return [];
  if (typeof init !== "object" && typeof init !== "function") {
    const text = String(init);
    return parse(text.startsWith("?") ? text.slice(1) : text);
  }
  if (typeof Reflect.get(init, Symbol.iterator) !== "function")
    return Object.entries(init).map(([name, value]): Pair => [name, String(value)]);
  return [...(init as Iterable<Iterable<unknown>>)].map((each): Pair => {
    const [name, value, ...more] = [...each].map(String);
    if (name === undefined || value === undefined || more.length > 0)
      throw new TypeError("Each query pair must be an iterable [name, value] tuple");
    return [name, value];
  });
}

const changes = new WeakMap<ProgramSearchParams, () => void>();

class ProgramSearchParams {
  #pairs: Pair[];

  constructor(init?: unknown) {
    this.#pairs = read(init);
  }

  get size(): number {
    return this.#pairs.length;
  }

  append(name: unknown, value: unknown): void {
    this.#pairs.push([String(name), String(value)]);
    this.#changed();
  }

  delete(name: unknown, value?: unknown): void {
    this.#pairs = this.#pairs.filter((each) => !matches(each, name, value));
    this.#changed();
  }

  get(name: unknown): string | null {
    return this.#pairs.find((each) => matches(each, name))?.[1] ?? null;
  }

  getAll(name: unknown): string[] {
    return this.#pairs.filter((each) => matches(each, name)).map(([, value]) => value);
  }

  has(name: unknown, value?: unknown): boolean {
    return this.#pairs.some((each) => matches(each, name, value));
  }

  set(name: unknown, value: unknown): void {
    const first = this.#pairs.findIndex((each) => matches(each, name));
    if (first === -1) this.#pairs.push([String(name), String(value)]);
    else
      this.#pairs = this.#pairs.flatMap((each, index): Pair[] => {
        if (index === first) return [[each[0], String(value)]];
        return matches(each, name) ? [] : [each];
      });
    this.#changed();
  }

  sort(): void {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed();
  }

  forEach(callback: (value: string, name: string, params: this) => void, thisArg?: unknown): void {
    for (const [name, value] of this.#pairs) Reflect.apply(callback, thisArg, [value, name, this]);
  }

  *entries(): IterableIterator<Pair> {
    for (const [name, value] of this.#pairs) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.#pairs) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.#pairs) yield value;
  }

  [Symbol.iterator](): IterableIterator<Pair> {
    return this.entries();
  }

  get [Symbol.toStringTag](): string {
    return "URLSearchParams";
  }

  [inspect.custom](depth: number | null, options: InspectOptions): string {
    if (typeof depth === "number" && depth < 0) return "[Object]";
    const inner = { ...options, ...(depth === null ? {} : { depth: depth - 1 }) };
    const shown = this.#pairs.map(([name, value]) => `${inspect(name, inner)} => ${inspect(value, inner)}`);
    if (shown.length === 0) return `${this.constructor.name} {}`;
    const isLong = stripVTControlCharacters(shown.join(SEPARATOR)).length > (options.breakLength ?? WIDTH);
    return `${this.constructor.name} {${isLong ? "\n  " : " "}${shown.join(isLong ? ",\n  " : SEPARATOR)} }`;
  }

  toString(): string {
    return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
  }

  #changed(): void {
    changes.get(this)?.();
  }
}

function matches([own, ownValue]: Pair, name: unknown, value?: unknown): boolean {
  return own === String(name) && (value === undefined || ownValue === String(value));
}

/** Puts them into the realm. A URL and its parameters follow each other, and both are shown as in Node.js. */
export function installSearchParams(): void {
  Object.defineProperty(ProgramSearchParams, "name", { value: "URLSearchParams" });
  Object.defineProperty(globalThis, "URLSearchParams", {
    value: ProgramSearchParams,
    writable: true,
    configurable: true,
  });
  Object.defineProperty(URL.prototype, inspect.custom, {
    configurable: true,
    writable: true,
    value(this: URL, depth: number | null, options: InspectOptions): unknown {
      if (typeof depth === "number" && depth < 0) return this;
      const members = URL_MEMBERS.map((name) => [name, this[name]]);
      return `URL ${inspect(Object.fromEntries(members), options)}`;
    },
  });
  Object.defineProperty(URL.prototype, Symbol.toStringTag, { configurable: true, value: "URL" });
  const known = new WeakMap<URL, { search: string; params: ProgramSearchParams }>();
  Object.defineProperty(URL.prototype, "searchParams", {
    configurable: true,
    enumerable: true,
    get(this: URL): ProgramSearchParams {
      const { search } = this;
      const before = known.get(this);
      if (before?.search === search) return before.params;
      const params = new ProgramSearchParams(search);
      const held = { search, params };
      changes.set(params, () => {
        this.search = params.toString();
        held.search = this.search;
      });
      known.set(this, held);
      return params;
    },
  });
}
