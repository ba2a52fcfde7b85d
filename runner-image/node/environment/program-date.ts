/**
 * A `Date` that reads the given clock (whole milliseconds since 1970) where the original would read the system's.
 * Its objects are the original's: it shares the prototype.
 */
export function makeDate(RealDate: DateConstructor, nowMs: () => number): DateConstructor {
  function ProgramDate(...args: unknown[]): Date | string {
    if (new.target === undefined) return new RealDate(nowMs()).toString();
    return Reflect.construct(RealDate, args.length === 0 ? [nowMs()] : args, new.target) as Date;
  }
  const now = { now: () => nowMs() }.now;
  Object.defineProperties(ProgramDate, {
    ...Object.getOwnPropertyDescriptors(RealDate),
    now: { value: now, writable: true, enumerable: false, configurable: true },
  });
  return ProgramDate as unknown as DateConstructor;
}
