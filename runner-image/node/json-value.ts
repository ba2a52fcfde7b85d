/**
 * Prepares a value of the program for JSON: its result, or the arguments of a call. `JSON.stringify` loses some values without a
 * word: it writes `{}` for an error, an iterator or a Map, and null for NaN, and it leaves a function out. Here each of these is
 * either said in full or refused, with its path and with what to write instead. As with `JSON.stringify`, members of objects
 * that are undefined are left out, and items of arrays that are undefined become null.
 *
 * In full are said: errors as `{name, message, ...}` with their further members, typed arrays of numbers as lists, and whatever
 * has a `toJSON`. runner-image/python/ptc_runner/result_value.py does the same for Python programs.
 */

import { types } from "node:util";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";

// The program shares this realm and may replace globals.
const { keys, hasOwn, defineProperty, getPrototypeOf, getOwnPropertyNames, getOwnPropertySymbols } = Object;
const { isArray, from: arrayFrom } = Array;
const { isFinite: isFiniteNumber, isNaN: isNotANumber } = Number;
const { propertyIsEnumerable: isEnumerable } = Object.prototype;
const { getTime, toJSON: dateToJson } = Date.prototype;
const { stringify } = JSON;
const { get } = Reflect;
const { isView } = ArrayBuffer;
const WELL_KNOWN = new Set(
  getOwnPropertyNames(Symbol)
    .map((name) => Reflect.get(Symbol, name) as unknown)
    .filter((each) => typeof each === "symbol"),
);

/** JSON cannot carry a value. The message names the value by its path, and says what to write instead. */
export class UnsendableError extends TypeError {}

/**
 * A value of which `JSON.stringify` loses nothing: the value itself, or a copy of those parts that have to be said differently.
 *
 * @param name what the message calls the value.
 * @throws UnsendableError
 */
export function carriedByJson(value: unknown, name: string): unknown {
  return new Reader(name).read(value);
}

/** Readers of JSON refuse a number beyond the largest double. */
const MOST = BigInt(Number.MAX_VALUE);

/** How an array is unlike a list: it has names beside its numbers, as what `String.prototype.match` gives has. */
const NAMES_OF_A_MATCH: ReadonlySet<string> = new Set(["index", "input", "groups", "indices"]);

class Reader {
  readonly #name: string;
  /** The objects that contain the present value, and the names that lead to it. */
  readonly #ancestors: object[] = [];
  readonly #path: (string | number)[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  read(value: unknown): unknown {
    switch (typeof value) {
      case "number":
        return this.#readNumber(value);
      case "bigint":
        if (value <= MOST && value >= -MOST) return value;
        return this.#refuse(
          "is a BigInt of more than 308 digits, which readers of JSON refuse: use String(x)",
        );
      case "function":
        return this.#refuse("is a function, which JSON cannot carry: call it, or leave it out");
      case "symbol":
        return this.#refuse("is a symbol, which JSON cannot carry: use String(x)");
      case "object":
        return value === null ? null : this.#readObject(value);
      default:
        return value;
    }
  }

  #readNumber(value: number): number {
    if (isFiniteNumber(value)) return value;
    return this.#refuse(`is ${value}, which JSON cannot carry: use null, or String(x)`);
  }

  #readObject(value: object): unknown {
    if (this.#ancestors.includes(value))
      return this.#refuse("refers back to an object that contains it, which JSON cannot carry");
    if (this.#ancestors.length >= MAX_NESTING_DEPTH) {
      const message = `${this.#name} nests deeper than ${MAX_NESTING_DEPTH} levels, which is more than is carried`;
      throw new UnsendableError(message);
    }
    this.#ancestors.push(value);
    const read = this.#readContent(value);
    this.#ancestors.pop();
    return read;
  }

  #readContent(value: object): unknown {
    if (isArray(value)) return this.#readArray(value);
    const kind = kindOf(value);
    if (kind !== undefined) return this.#refuse(`is ${kind}`);
    if (types.isDate(value) && isNotANumber(getTime.call(value)))
      return this.#refuse("is an invalid Date, which JSON cannot carry: use null");
    const toJson = this.#member(value, "toJSON");
    if (typeof toJson === "function") {
      // This is how most values get here that are not plain, and JSON.stringify writes the same.
      if (toJson === dateToJson) return value;
      const given = this.#attempt(() => toJson.call(value, String(this.#path.at(-1) ?? "")) as unknown);
      if (given !== value) return this.read(given);
    }
    if (types.isBoxedPrimitive(value)) return this.#readBoxed(value);
    if (types.isTypedArray(value)) return this.#readArray(arrayFrom(value as Iterable<unknown>));
    if (types.isNativeError(value) || value instanceof Error) return this.#readError(value as Error);
    return this.#readMembers(value);
  }

  #readArray(value: readonly unknown[]): unknown[] {
    let copy: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      this.#path.push(index);
      const item = this.#member(value, index);
      if (item === undefined && !hasOwn(value, index))
        return this.#refuse(
          "is a hole in an array, which JSON cannot carry: use null there, or an object with the numbers as names",
        );
      const read = this.read(item);
      this.#path.pop();
      if (read === item) continue;
      copy ??= value.slice();
      copy[index] = read;
    }
    const names = keys(value);
    for (let index = value.length; index < names.length; index++) {
      const name = names[index] as string;
      if (NAMES_OF_A_MATCH.has(name)) continue;
      return this.#refuse(`is an array with a member '${name}', which JSON cannot carry: use an object`);
    }
    return copy ?? (value as unknown[]);
  }

  #readMembers(value: object): object {
    const names = this.#attempt(() => keys(value));
    if (names.length === 0 && hidesSomething(value))
      return this.#refuse(`is ${article(classOf(value))}, of which JSON carries nothing: ${advise(value)}`);
    const symbol = symbolMember(value);
    if (symbol !== undefined)
      return this.#refuse(
        `has the member ${String(symbol)}, which JSON cannot carry: use a text as its name`,
      );
    let copy: Record<string, unknown> | undefined;
    for (const name of names) {
      this.#path.push(name);
      const member = this.#member(value, name);
      const read = this.read(member);
      this.#path.pop();
      if (read === member) continue;
      copy ??= copyOf(value, names);
      setMember(copy, name, read);
    }
    return copy ?? value;
  }

  /** An error is its name, its message and all further members, such as `cause`, `errors` and `code`. */
  #readError(error: Error): object {
    const copy: Record<string, unknown> = {};
    const own = this.#attempt(() => getOwnPropertyNames(error));
    for (const name of ["name", "message", "code", ...own]) {
      if (name === "stack" || hasOwn(copy, name)) continue;
      this.#path.push(name);
      const member = this.read(this.#member(error, name));
      this.#path.pop();
      if (member !== undefined) setMember(copy, name, member);
    }
    return copy;
  }

  #readBoxed(value: object): unknown {
    const held = this.#attempt(() => (value as { valueOf(): unknown }).valueOf());
    return typeof held === "object" ? value : this.read(held);
  }

  #member(value: object, name: string | number): unknown {
    try {
      return get(value, name);
    } catch (error) {
      return this.#refuse(`cannot be read: ${describe(error)}`);
    }
  }

  /** Runs code of the program, such as a getter. */
  #attempt<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      return this.#refuse(`cannot be read: ${describe(error)}`);
    }
  }

  #refuse(problem: string): never {
    const path = this.#path.map(stepOf).join("");
    throw new UnsendableError(`${this.#name}${path} ${problem}`);
  }
}

/** A kind of object whose content JSON loses even where it has further members, with what to write instead. */
function kindOf(value: object): string | undefined {
  if (types.isMap(value)) return "a Map, which JSON cannot carry: use Object.fromEntries(x)";
  if (types.isSet(value)) return "a Set, which JSON cannot carry: use [...x]";
  if (types.isPromise(value)) return "a Promise: await it";
  if (types.isRegExp(value)) return "a RegExp, which JSON cannot carry: use String(x)";
  if (
    types.isUint8Array(value) ||
    types.isUint8ClampedArray(value) ||
    types.isAnyArrayBuffer(value) ||
    isDataView(value)
  )
    return `${article(classOf(value))}, which JSON cannot carry: use Buffer.from(x).toString("base64"), new TextDecoder().decode(x) or [...new Uint8Array(x)]`;
  return undefined;
}

function isDataView(value: object): boolean {
  return isView(value) && !types.isTypedArray(value);
}

/** Whether an object without members of its own may hold something that only its class gives access to. */
function hidesSomething(value: object): boolean {
  for (
    let at = getPrototypeOf(value) as object | null;
    at !== null;
    at = getPrototypeOf(at) as object | null
  ) {
    if (getPrototypeOf(at) === null && hasOwn(at, "hasOwnProperty")) return false;
    const names = getOwnPropertyNames(at);
    if (names.some((name) => name !== "constructor") || getOwnPropertySymbols(at).length > 0) return true;
  }
  return false;
}

/** A symbol that names a member of a plain object. Those of a class are its own business. */
function symbolMember(value: object): symbol | undefined {
  const symbols = getOwnPropertySymbols(value);
  if (symbols.length === 0) return undefined;
  const prototype = getPrototypeOf(value) as object | null;
  if (prototype !== null && getPrototypeOf(prototype) !== null) return undefined;
  return symbols.find((each) => !WELL_KNOWN.has(each) && isEnumerable.call(value, each));
}

function classOf(value: object): string {
  try {
    const name: unknown = value.constructor.name;
    // A generator's and an iterator's constructor is no function with a name.
    return typeof name === "string" && name !== "" && name !== "Object" ? name : tagOf(value);
  } catch {
    return tagOf(value);
  }
}

function tagOf(value: object): string {
  try {
    return Object.prototype.toString.call(value).slice("[object ".length, -1);
  } catch {
    return "object";
  }
}

function article(name: string): string {
  return `${/^[aeio]/i.test(name) ? "an" : "a"} ${name}`;
}

/** What to write instead of an object that keeps its content to itself. */
function advise(value: object): string {
  const has = (name: string | symbol) => {
    try {
      return typeof Reflect.get(value, name) === "function";
    } catch {
      return false;
    }
  };
  if (has("then")) return "await it";
  if (has("entries") && has("get")) return "use Object.fromEntries(x)";
  if (has(Symbol.iterator)) return "use [...x]";
  if (has(Symbol.asyncIterator)) return "use await Array.fromAsync(x)";
  if (has("text")) return "use await x.text()";
  return "use its parts, or String(x)";
}

function copyOf(value: object, names: readonly string[]): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const name of names) setMember(copy, name, Reflect.get(value, name));
  return copy;
}

function setMember(target: object, name: string, value: unknown): void {
  if (name === "__proto__")
    defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  else Reflect.set(target, name, value);
}

/** A step of a path, as a script would write it. */
function stepOf(step: string | number): string {
  if (typeof step === "number") return `[${step}]`;
  return /^[A-Za-z_$][\w$]*$/.test(step) ? `.${step}` : `[${stringify(step)}]`;
}

function describe(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return "it throws";
  }
}
