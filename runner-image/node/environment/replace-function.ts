/** Replaces a function with another of the same name, length and attributes, so that a program sees no difference. */
export function replaceFunction(
  target: object,
  name: string,
  replacement: (...args: never[]) => unknown,
): void {
  const original = Object.getOwnPropertyDescriptor(target, name);
  if (original === undefined) return;
  const { value, configurable = false, enumerable = false } = original;
  if (typeof value === "function") {
    Object.defineProperty(replacement, "name", { value: value.name, configurable: true });
    Object.defineProperty(replacement, "length", { value: value.length, configurable: true });
  }
  Object.defineProperty(target, name, { value: replacement, writable: true, configurable, enumerable });
}
