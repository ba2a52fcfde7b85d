/** How finely arrivals are told apart. */
const SLOT_MS = 5_000;
/** How many slots are remembered: a minute. */
const SLOTS = 12;
const REMEMBERED_GAPS = 8;

/** How programs have come and ended lately. Times are of a clock that never goes back, in milliseconds. */
export class Arrivals {
  /** Slots by their number, with how many came in them. */
  readonly #slots = new Map<number, number>();
  readonly #gapsMs: number[] = [];
  #activeMs = Number.NEGATIVE_INFINITY;

  note(nowMs: number): void {
    const slot = Math.floor(nowMs / SLOT_MS);
    this.#slots.set(slot, (this.#slots.get(slot) ?? 0) + 1);
    this.#gapsMs.push(this.sinceLastMs(nowMs));
    if (this.#gapsMs.length > REMEMBERED_GAPS) this.#gapsMs.shift();
    this.#activeMs = nowMs;
  }

  /** How many came each second, in the busiest five seconds of the last minute. A minute after the last one this is 0. */
  perSecond(nowMs: number): number {
    const oldest = Math.floor(nowMs / SLOT_MS) - SLOTS;
    for (const slot of this.#slots.keys()) if (slot < oldest) this.#slots.delete(slot);
    return Math.max(0, ...this.#slots.values()) / (SLOT_MS / 1_000);
  }

  noteEnd(nowMs: number): void {
    this.#activeMs = nowMs;
  }

  /** Since one came or ended. Infinite before the first one. */
  sinceLastMs(nowMs: number): number {
    return nowMs - this.#activeMs;
  }

  /** How long each of the last few came after another had come or ended. */
  get gapsMs(): readonly number[] {
    return this.#gapsMs;
  }
}
