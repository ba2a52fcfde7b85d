import { AsyncLocalStorage } from "node:async_hooks";
import type { ProgramScope } from "./program-scope.ts";
import { replaceFunction } from "./replace-function.ts";

type Callback = (held: unknown) => void;

const Real = globalThis.FinalizationRegistry;
const { apply, construct } = Reflect;
const snapshot = AsyncLocalStorage.snapshot.bind(AsyncLocalStorage);

/**
 * Has callbacks about collected objects be called while the program runs that has asked for them, in its asynchronous context,
 * and never after it.
 */
export function replaceFinalization(scope: ProgramScope): void {
  function Replacement(callback: Callback) {
    // These refuse a call without `new`, and what is no function.
    if (new.target === undefined) return apply(Real, undefined, [callback]);
    if (typeof callback !== "function") return construct(Real, [callback]);
    const inContext = snapshot();
    const call = (held: unknown) => {
      if (!inContext(() => scope.isLate)) inContext(callback, held);
    };
    return construct(Real, [call], new.target);
  }
  const { prototype } = Real;
  Replacement.prototype = prototype;
  replaceFunction(globalThis, "FinalizationRegistry", Replacement);
  replaceFunction(prototype, "constructor", Replacement);
}
