/**
 * `Date` with local time as in Node.js, computed by the process. The interpreter's own takes the offset of another moment near a change
 * of the offset, so that it is hours wrong there, and reads other texts.
 */
import type { HostFunctions } from "../host-functions.ts";

/** The methods that set a part of the local time, with the most arguments that each takes. */
const SETTERS = {
  setDate: 1,
  setFullYear: 3,
  setHours: 4,
  setMilliseconds: 1,
  setMinutes: 3,
  setMonth: 2,
  setSeconds: 2,
  setYear: 1,
} as const;
const TEXTS = ["toString", "toTimeString"] as const;
/** A date's constructor takes seven numbers, and one argument alone in another sense. */
const PARTS = 7;

type Numbers = readonly number[];

export function installDates({ date: ask }: Pick<HostFunctions, "date">): void {
  const Original = Date;
  const { prototype } = Original;
  const { getTime, setTime } = prototype;
  // Each becomes a number in its order, as the standard says; a BigInt throws.
  const numbers = (args: readonly unknown[]): Numbers => args.map((each) => +(each as number));
  const compute = (method: string, values: Numbers) => Number(ask(method, values.join(",")));
  const parse = (text: unknown) => Number(ask("parse", String(text)));

  function ProgramDate(this: unknown, ...args: unknown[]): unknown {
    if (new.target === undefined) return new Original().toString();
    return Reflect.construct(Original, timeOf(args), new.target);
  }
  const timeOf = (args: readonly unknown[]): unknown[] => {
    if (args.length === 0) return [];
    if (args.length > 1) return [compute("new", numbers(args.slice(0, PARTS)))];
    const [value] = args;
    if (value instanceof Original) return [getTime.call(value)];
    const primitive = toPrimitive(value);
    return [typeof primitive === "string" ? parse(primitive) : primitive];
  };

  const members = { now: Original.now, parse: (text: unknown) => parse(text), UTC: Original.UTC };
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(ProgramDate, name, { value, writable: true, configurable: true });
  Object.defineProperty(ProgramDate, "name", { value: "Date", configurable: true });
  Object.defineProperty(ProgramDate, "length", { value: PARTS, configurable: true });
  Object.defineProperty(ProgramDate, "prototype", { value: prototype, writable: false });
  const define = (name: string, value: unknown) =>
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  define("constructor", ProgramDate);
  for (const [name, most] of Object.entries(SETTERS))
    define(name, function (this: Date, ...args: unknown[]) {
      const time = getTime.call(this);
      return setTime.call(this, compute(name, [time, ...numbers(args.slice(0, most))]));
    });
  for (const name of TEXTS)
    define(name, function (this: Date) {
      return ask(name, String(getTime.call(this)));
    });
  Object.defineProperty(globalThis, "Date", { value: ProgramDate, writable: true, configurable: true });
}

/** ECMAScript, 7.1.1. */
function toPrimitive(value: unknown): unknown {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return value;
  const convert: unknown = Reflect.get(value, Symbol.toPrimitive);
  if (convert !== undefined && convert !== null) {
    const converted: unknown = Reflect.apply(convert as () => unknown, value, ["default"]);
    if (!isObject(converted)) return converted;
  } else
    for (const name of ["valueOf", "toString"]) {
      const method: unknown = Reflect.get(value, name);
      if (typeof method !== "function") continue;
      const converted: unknown = Reflect.apply(method, value, []);
      if (!isObject(converted)) return converted;
    }
  throw new TypeError("Cannot convert object to primitive value");
}

function isObject(value: unknown): boolean {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
