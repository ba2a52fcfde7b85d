import os from "node:os";
import { type MarkOptions, type MeasureOptions, type Performance, performance } from "node:perf_hooks";
import { type ProgramClock, TICKS_PER_MS } from "./program-clock.ts";
import { makeDate } from "./program-date.ts";
import { replaceFunction } from "./replace-function.ts";

const NS_PER_TICK = 1e6 / TICKS_PER_MS;
const TICKS_PER_SECOND = 1_000 * TICKS_PER_MS;

/** Puts the program's clock in the place of all that tell the time in this realm. */
export function replaceClocks(clock: ProgramClock): void {
  replaceDate(clock);
  replacePerformance(clock);
  replaceHrtime(clock);
  replaceFormats(clock);
  replaceTemporal(clock);
  const uptime = () => clock.elapsedTicks() / TICKS_PER_SECOND;
  replaceFunction(process, "uptime", uptime);
  replaceFunction(os, "uptime", uptime);
}

function replaceDate(clock: ProgramClock): void {
  const ProgramDate = makeDate(Date, () => clock.nowMs());
  Object.defineProperty(Date.prototype, "constructor", { value: ProgramDate });
  Object.defineProperty(globalThis, "Date", { value: ProgramDate });
}

function replacePerformance(clock: ProgramClock): void {
  const prototype = Object.getPrototypeOf(performance) as Performance;
  const { mark, measure } = prototype;
  const now = () => clock.elapsedTicks() / TICKS_PER_MS;
  replaceFunction(prototype, "now", now);
  Object.defineProperty(prototype, "timeOrigin", { get: () => clock.startedMs });
  replaceFunction(prototype, "mark", function (this: Performance, name: string, options?: MarkOptions) {
    return mark.call(this, name, { ...options, startTime: options?.startTime ?? now() });
  });
  replaceFunction(prototype, "measure", function (this: Performance, name: string, ...span: Span) {
    return Reflect.apply(measure, this, [name, ...endNow(span, now)]);
  });
}

type Span = [start?: string | MeasureOptions | undefined, end?: string | undefined];

/** A span of time without an end ends now. */
function endNow([start, end]: Span, now: () => number): Span {
  if (end !== undefined) return [start, end];
  const options = typeof start === "object" ? start : start === undefined ? {} : { start };
  const isWhole = options.start !== undefined && options.duration !== undefined;
  return [options.end !== undefined || isWhole ? options : { ...options, end: now() }];
}

function replaceHrtime(clock: ProgramClock): void {
  const { hrtime } = process;
  const check = hrtime;
  function programHrtime(since?: [number, number]): [number, number] {
    // Refuses what is no time.
    if (since !== undefined) check(since);
    const [seconds, nanoseconds] = since ?? [0, 0];
    const ticks = clock.elapsedTicks();
    const rest = (ticks % TICKS_PER_SECOND) * NS_PER_TICK - nanoseconds;
    const whole = Math.floor(ticks / TICKS_PER_SECOND) - seconds;
    return rest < 0 ? [whole - 1, rest + 1e9] : [whole, rest];
  }
  const bigint = () => BigInt(clock.elapsedTicks()) * BigInt(NS_PER_TICK);
  replaceFunction(process, "hrtime", Object.assign(programHrtime, { bigint }));
}

/** Without a date, a format takes the present. */
function replaceFormats(clock: ProgramClock): void {
  const prototype = Intl.DateTimeFormat.prototype;
  const getFormat = Object.getOwnPropertyDescriptor(prototype, "format")
    ?.get as () => Intl.DateTimeFormat["format"];
  const { formatToParts } = prototype;
  const formats = new WeakMap<object, Intl.DateTimeFormat["format"]>();
  Object.defineProperty(prototype, "format", {
    get(this: Intl.DateTimeFormat) {
      const format = getFormat.call(this);
      const known = formats.get(format);
      if (known !== undefined) return known;
      const present: typeof format = (date) => format(date === undefined ? clock.nowMs() : date);
      formats.set(format, present);
      return present;
    },
  });
  replaceFunction(prototype, "formatToParts", function (this: Intl.DateTimeFormat, date?: Date | number) {
    return formatToParts.call(this, date === undefined ? clock.nowMs() : date);
  });
}

interface TemporalNow {
  timeZoneId(): string;
}
interface Instant {
  toZonedDateTimeISO(zone: unknown): Record<string, () => unknown>;
}
interface TemporalNamespace {
  Now: TemporalNow;
  Instant: { fromEpochMilliseconds(ms: number): Instant };
}

/** In runtimes that have it. */
function replaceTemporal(clock: ProgramClock): void {
  const temporal = (globalThis as { Temporal?: TemporalNamespace }).Temporal;
  if (temporal === undefined) return;
  const { Now, Instant } = temporal;
  const instant = () => Instant.fromEpochMilliseconds(clock.nowMs());
  const zoned = (zone?: unknown) =>
    instant().toZonedDateTimeISO(zone === undefined ? Now.timeZoneId() : zone);
  replaceFunction(Now, "instant", instant);
  replaceFunction(Now, "zonedDateTimeISO", zoned);
  for (const part of ["DateTime", "Date", "Time"]) {
    replaceFunction(Now, `plain${part}ISO`, (zone?: unknown) => zoned(zone)[`toPlain${part}`]?.());
  }
}
