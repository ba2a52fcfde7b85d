/** What bundled packages need when they load, and programs are not to find. */
const NAME = "Atomics";

if (!Object.hasOwn(globalThis, NAME))
  Object.defineProperty(globalThis, NAME, { value: {}, configurable: true, writable: true });

/** Takes it away, once everything is loaded. */
export function removePreparations(): void {
  Reflect.deleteProperty(globalThis, NAME);
}
