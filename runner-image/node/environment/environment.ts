import { AsyncLocalStorage } from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { type MarkOptions, type MeasureOptions, type Performance, performance } from "node:perf_hooks";
import { MAX_TRACE_SERIES_CHARS } from "../../../protocol/limits.ts";
import type { ProgramEnvironment, Trace } from "../../../protocol/messages.ts";
import { type Answers, EventOrder } from "./event-order.ts";
import { ProgramClock, TICKS_PER_MS } from "./program-clock.ts";
import { ProgramRandomness } from "./program-randomness.ts";
import { ProgramScope } from "./program-scope.ts";
import { ProgramTimers } from "./program-timers.ts";
import { replaceFunction } from "./replace-function.ts";

const MAX_SERIES_BYTES = (MAX_TRACE_SERIES_CHARS / 4) * 3;

const { now } = Date;
const readHrtime = process.hrtime.bigint;

/**
 * Everything a program can observe that does not follow from its text, its data and the answers to its calls: the clock,
 * the order of events, randomness and the time zone. A live run is logged; given the log, the run can be replayed.
 *
 * Not covered: what OpenSSL generates internally (keys, nonces), other threads, processes and `vm` contexts, the order in which
 * file and compression work finishes, file times, and measures of memory and processor time. The locale is always
 * the container's.
 */
export class Environment {
  readonly clock = new ProgramClock(() => Number(readHrtime()) / 1e6, MAX_SERIES_BYTES);
  readonly order = new EventOrder(MAX_SERIES_BYTES);
  readonly scope = new ProgramScope();
  readonly #timers = new ProgramTimers(this.order, this.scope);
  readonly #randomness = new ProgramRandomness(() => this.clock.nowMs());

  /** Replaces the realm's own clocks, timers and randomness with the program's. */
  install(): void {
    this.#randomness.install();
    this.#timers.install();
    replaceClocks(this.clock);
    replaceFinalization(this.scope);
    // It covers the whole machine and changes constantly.
    replaceFunction(os, "freemem", () => os.totalmem());
    syncBuiltinESMExports();
  }

  /** Reseeds all randomness of this process after its memory was copied from a snapshot. */
  renewRandomness(): void {
    this.#randomness.renew();
  }

  /** The program starts now. */
  begin(environment: ProgramEnvironment | undefined, answers: Answers): void {
    const { seed, time_zone, replay } = environment ?? {};
    if (seed !== undefined) this.#randomness.seed(Buffer.from(seed, "hex"));
    // Setting it, even to the same value, makes the runtime look up the zone again.
    if (time_zone !== undefined && time_zone !== process.env.TZ) process.env.TZ = time_zone;
    this.clock.start(now(), replay);
    this.order.start();
    if (replay !== undefined) this.order.replay(replay.events, answers);
  }

  /** The program has ended, and another may begin. Timers that it left never fire. */
  end(): void {
    this.scope.leave();
    this.#timers.end();
    this.order.start();
  }

  trace(): Trace {
    const clock = this.clock.log;
    const events = this.order.log;
    return {
      started_ms: this.clock.startedMs,
      clock: clock.toString(),
      events: events.toString(),
      complete: !clock.full && !events.full,
    };
  }
}

type Callback = (held: unknown) => void;

const Real = globalThis.FinalizationRegistry;
const { apply, construct } = Reflect;
const snapshot = AsyncLocalStorage.snapshot.bind(AsyncLocalStorage);

/**
 * Calls back about collected objects only while the program that asked for it is running, in its asynchronous context.
 */
function replaceFinalization(scope: ProgramScope): void {
  function Replacement(callback: Callback) {
    // These throw for a call without `new`, and for an argument that is not a function.
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

const NS_PER_TICK = 1e6 / TICKS_PER_MS;
const TICKS_PER_SECOND = 1_000 * TICKS_PER_MS;

/** Replaces every clock of this realm with the program's. */
function replaceClocks(clock: ProgramClock): void {
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
    // Throws for anything that is not a time.
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

/** Without a date, a formatter uses the current time. */
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

/** Only where the runtime has it. */
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

/**
 * A `Date` that reads the given clock (whole milliseconds since 1970) where the original would read the system's.
 * It shares the prototype, so its objects are instances of the original.
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
