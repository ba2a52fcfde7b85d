/** `util.types` of Node.js as far as the runner and programs use it, by what only a value of that kind has. */

const { getOwnPropertyDescriptor, getPrototypeOf } = Object;
const { apply } = Reflect;
const { toString: tagOf } = Object.prototype;

type Probe = (value: unknown) => boolean;

/** Tells a kind by a getter or method that throws for every other kind. */
function byMember(prototype: object, name: string | symbol, ...args: unknown[]): Probe {
  const { get, value } = getOwnPropertyDescriptor(prototype, name) ?? {};
  const member = (get ?? value) as (...args: unknown[]) => unknown;
  return (each) => {
    if (typeof each !== "object" || each === null) return false;
    try {
      apply(member, each, args);
      return true;
    } catch {
      return false;
    }
  };
}

const typedArrayPrototype = getPrototypeOf(Uint8Array.prototype) as object;
const typedArrayTag = getOwnPropertyDescriptor(typedArrayPrototype, Symbol.toStringTag)?.get as () =>
  | string
  | undefined;
const typedArrayName = (value: unknown) =>
  typeof value === "object" && value !== null ? apply(typedArrayTag, value, []) : undefined;

const isArrayBuffer = byMember(ArrayBuffer.prototype, "byteLength");
const isSharedArrayBuffer = byMember(SharedArrayBuffer.prototype, "byteLength");
const isNumberObject = byMember(Number.prototype, "valueOf");
const isStringObject = byMember(String.prototype, "valueOf");
const isBooleanObject = byMember(Boolean.prototype, "valueOf");
const isBigIntObject = byMember(BigInt.prototype, "valueOf");
const isSymbolObject = byMember(Symbol.prototype, "valueOf");
const { isError } = Error as ErrorConstructor & { isError(value: unknown): boolean };
const tagIs = (tag: string) => (value: unknown) => apply(tagOf, value, []) === `[object ${tag}]`;

export const types = {
  isMap: byMember(Map.prototype, "size"),
  isSet: byMember(Set.prototype, "size"),
  isWeakMap: byMember(WeakMap.prototype, "has", {}),
  isWeakSet: byMember(WeakSet.prototype, "has", {}),
  isDate: byMember(Date.prototype, "getTime"),
  // Its own `source` throws for every object that is neither a regular expression nor their prototype.
  isRegExp: (value: unknown) => value !== RegExp.prototype && byMember(RegExp.prototype, "source")(value),
  isPromise: (value: unknown): value is Promise<unknown> => value instanceof Promise,
  isNativeError: (value: unknown): value is Error => isError(value),
  isArrayBuffer,
  isSharedArrayBuffer,
  isAnyArrayBuffer: (value: unknown) => isArrayBuffer(value) || isSharedArrayBuffer(value),
  isDataView: byMember(DataView.prototype, "byteLength"),
  isArrayBufferView: (value: unknown) => ArrayBuffer.isView(value),
  isTypedArray: (value: unknown) => typedArrayName(value) !== undefined,
  isUint8Array: (value: unknown) => typedArrayName(value) === "Uint8Array",
  isUint8ClampedArray: (value: unknown) => typedArrayName(value) === "Uint8ClampedArray",
  isGeneratorFunction: tagIs("GeneratorFunction"),
  isAsyncFunction: (value: unknown) =>
    tagIs("AsyncFunction")(value) || tagIs("AsyncGeneratorFunction")(value),
  isGeneratorObject: tagIs("Generator"),
  isBoxedPrimitive: (value: unknown) =>
    isNumberObject(value) ||
    isStringObject(value) ||
    isBooleanObject(value) ||
    isBigIntObject(value) ||
    isSymbolObject(value),
  isNumberObject,
  isStringObject,
  isBooleanObject,
  isBigIntObject,
  isSymbolObject,
};
