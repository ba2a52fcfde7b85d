/** `node:util` of programs in an interpreter. */
import extracted, {
  format,
  formatWithOptions,
  inspect,
  stripVTControlCharacters,
} from "node-inspect-extracted";
import { types } from "./types.ts";

export { format, formatWithOptions, inspect, stripVTControlCharacters, types };

/** How many columns of a terminal a text takes. */
export const { getStringWidth: textWidth } = extracted as unknown as {
  getStringWidth(text: string): number;
};

type Callback = (error: unknown, value?: unknown) => void;

const CUSTOM = Symbol.for("nodejs.util.promisify.custom");

/** As in Node.js, for functions that take a callback last. */
export function promisify(
  original: (...args: unknown[]) => unknown,
): (...args: unknown[]) => Promise<unknown> {
  if (typeof original !== "function") throw new TypeError('The "original" argument must be of type function');
  const custom: unknown = Reflect.get(original, CUSTOM);
  if (typeof custom === "function") return custom as ReturnType<typeof promisify>;
  return function (this: unknown, ...args) {
    return new Promise((resolve, reject) => {
      const done: Callback = (error, value) => (error ? reject(error) : resolve(value));
      Reflect.apply(original, this, [...args, done]);
    });
  };
}
promisify.custom = CUSTOM;

export function callbackify(
  original: (...args: unknown[]) => Promise<unknown>,
): (...args: unknown[]) => void {
  return function (this: unknown, ...args) {
    const done = args.pop() as Callback;
    Reflect.apply(original, this, args).then(
      (value) => queueMicrotask(() => done(null, value)),
      (error: unknown) => queueMicrotask(() => done(error)),
    );
  };
}

export function deprecate<T>(fn: T): T {
  return fn;
}

export function inherits(child: { prototype: object }, parent: { prototype: object }): void {
  Object.defineProperty(child, "super_", { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(child.prototype, parent.prototype);
}

const { TextDecoder, TextEncoder } = globalThis;

export { TextDecoder, TextEncoder };
