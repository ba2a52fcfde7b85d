import type { Trace } from "../../../protocol/messages.ts";
import { SeriesReader, SeriesWriter } from "../../../protocol/series.ts";

/** Unit of readings: a hundredth of a millisecond. */
export const TICKS_PER_MS = 100;

/**
 * Each time the log has grown by this much, readings become twice as coarse: a program that keeps reading the clock fills the
 * log ever more slowly, and its readings stay exact to about a five-hundredth of the time it has been reading.
 */
const COARSER_EVERY_BYTES = 8 * 1024;

/**
 * The one clock of a program, behind all the clocks it can read. Every reading is rounded and logged; a replay returns the
 * readings of the log. After the last of them, the clock continues from there, or from the current time if a run is resumed.
 */
export class ProgramClock {
  readonly #maxLogBytes: number;
  #log: SeriesWriter;
  readonly #realMs: () => number;
  #replay: SeriesReader | undefined;
  #startedMs = 0;
  /** The real clock when this one showed 0. */
  #zeroMs = 0;
  /** How far the current time was ahead of the replay at its start; `undefined` if the clock continues from the last reading. */
  #aheadMs: number | undefined;
  #last = 0;
  #resolution = 1;
  #coarserAt = COARSER_EVERY_BYTES;

  /** `realMs` is a clock that never goes back. */
  constructor(realMs: () => number, maxLogBytes: number) {
    this.#realMs = realMs;
    this.#maxLogBytes = maxLogBytes;
    this.#log = new SeriesWriter(maxLogBytes);
  }

  /** Sets the clock to a time, in milliseconds since 1970, and lets it run. */
  start(nowMs: number, replay?: Pick<Trace, "started_ms" | "clock"> & { resumes?: true }): void {
    this.#startedMs = replay?.started_ms ?? nowMs;
    this.#aheadMs = replay?.resumes === true ? nowMs - this.#startedMs : undefined;
    this.#zeroMs = this.#realMs();
    this.#replay = replay && new SeriesReader(replay.clock);
    this.#log = new SeriesWriter(this.#maxLogBytes);
    this.#last = 0;
    this.#resolution = 1;
    this.#coarserAt = COARSER_EVERY_BYTES;
  }

  get startedMs(): number {
    return this.#startedMs;
  }

  get log(): SeriesWriter {
    return this.#log;
  }

  /** Whole milliseconds since 1970. */
  nowMs(): number {
    return this.#startedMs + Math.floor(this.#read(TICKS_PER_MS) / TICKS_PER_MS);
  }

  /** Ticks since the program started. */
  elapsedTicks(): number {
    return this.#read(1);
  }

  #read(grain: number): number {
    if (this.#replay !== undefined) {
      const reading = this.#replay.next();
      if (reading !== undefined) return this.#keep(reading);
      this.#replay = undefined;
      if (this.#aheadMs === undefined) this.#zeroMs = this.#realMs() - this.#last / TICKS_PER_MS;
      else this.#zeroMs -= this.#aheadMs;
    }
    const elapsed = Math.floor((this.#realMs() - this.#zeroMs) * TICKS_PER_MS);
    const coarse = elapsed - (elapsed % Math.max(grain, this.#resolution));
    return this.#keep(Math.max(coarse, this.#last));
  }

  #keep(reading: number): number {
    this.#last = reading;
    this.#log.push(reading);
    if (this.#log.byteLength > this.#coarserAt) {
      this.#resolution *= 2;
      this.#coarserAt += COARSER_EVERY_BYTES;
    }
    return reading;
  }
}
