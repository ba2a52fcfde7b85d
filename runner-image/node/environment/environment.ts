import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { MAX_TRACE_SERIES_CHARS } from "../../../protocol/limits.ts";
import type { ProgramEnvironment, Trace } from "../../../protocol/wire/messages.ts";
import { type Answers, EventOrder } from "./event-order.ts";
import { ProgramClock } from "./program-clock.ts";
import { ProgramRandomness } from "./program-randomness.ts";
import { ProgramScope } from "./program-scope.ts";
import { ProgramTimers } from "./program-timers.ts";
import { replaceClocks } from "./replace-clocks.ts";
import { replaceFinalization } from "./replace-finalization.ts";
import { replaceFunction } from "./replace-function.ts";

const MAX_SERIES_BYTES = (MAX_TRACE_SERIES_CHARS / 4) * 3;

const { now } = Date;
const readHrtime = process.hrtime.bigint;

/**
 * Everything that a program can see and that its text, its data and its calls' answers do not decide: the clock, the order
 * of events, randomness and the time zone. What happens in a live run is logged; given the log, it happens again.
 *
 * Not covered: what OpenSSL makes inside (keys, nonces), other threads, processes and `vm` contexts, the order in which files
 * and compression finish among themselves, times of files, and measures of memory and processor time. The locale is always
 * the container's.
 */
export class Environment {
  readonly clock = new ProgramClock(() => Number(readHrtime()) / 1e6, MAX_SERIES_BYTES);
  readonly order = new EventOrder(MAX_SERIES_BYTES);
  readonly scope = new ProgramScope();
  readonly #timers = new ProgramTimers(this.order, this.scope);
  readonly #randomness = new ProgramRandomness(() => this.clock.nowMs());

  /** Replaces the realm's own clocks, timers and randomness by the program's. */
  install(): void {
    this.#randomness.install();
    this.#timers.install();
    replaceClocks(this.clock);
    replaceFinalization(this.scope);
    // It is that of the whole machine and changes all the time.
    replaceFunction(os, "freemem", () => os.totalmem());
    syncBuiltinESMExports();
  }

  /** The program starts now. */
  begin(environment: ProgramEnvironment | undefined, answers: Answers): void {
    const { seed, time_zone, replay } = environment ?? {};
    if (seed !== undefined) this.#randomness.seed(Buffer.from(seed, "hex"));
    // Setting it, even to what it is, makes the runtime look up the zone again.
    if (time_zone !== undefined && time_zone !== process.env.TZ) process.env.TZ = time_zone;
    this.clock.start(now(), replay);
    this.order.start();
    if (replay !== undefined) this.order.replay(replay.events, answers);
  }

  /** The program has ended, and another may begin. What it has left of timers never fires. */
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
