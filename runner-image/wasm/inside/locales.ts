/** The formats of locales that values have as methods, computed by the process. There is no `Intl`. */
import type { HostFunctions } from "../host-functions.ts";

const { getTime } = Date.prototype;

export function installLocales({ locale }: Pick<HostFunctions, "locale">): void {
  const ask = (method: string, value: string, ...rest: unknown[]) =>
    locale(method, JSON.stringify([value, ...rest]));
  const define = (target: object, name: string, value: (...args: never[]) => unknown) =>
    Object.defineProperty(target, name, { value, writable: true, configurable: true });

  define(Number.prototype, "toLocaleString", function (this: number, locales?: unknown, options?: unknown) {
    const number = Number(this);
    return ask("number", Object.is(number, -0) ? "-0" : String(number), locales, options);
  });
  define(BigInt.prototype, "toLocaleString", function (this: bigint, locales?: unknown, options?: unknown) {
    return ask("bigint", String(BigInt(this)), locales, options);
  });
  for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"])
    define(Date.prototype, name, function (this: Date, locales?: unknown, options?: unknown) {
      return ask(name, String(getTime.call(this)), locales, options);
    });
  define(
    String.prototype,
    "localeCompare",
    function (this: string, other: unknown, locales?: unknown, options?: unknown) {
      return Number(ask("localeCompare", String(this), String(other), locales, options));
    },
  );
}
