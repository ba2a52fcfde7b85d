/** How finely arrivals are told apart. */
const SLOT_MS = 5_000;
/** How many slots are remembered: a minute. */
const SLOTS = 12;

/** How often something has happened lately: in the busiest five seconds of the last minute. */
export class ArrivalRate {
  /** Slots by their number, with how often it happened in them. */
  readonly #slots = new Map<number, number>();

  note(nowMs: number): void {
    const slot = Math.floor(nowMs / SLOT_MS);
    this.#slots.set(slot, (this.#slots.get(slot) ?? 0) + 1);
  }

  /** A minute after the last time this is 0. */
  perSecond(nowMs: number): number {
    const oldest = Math.floor(nowMs / SLOT_MS) - SLOTS;
    for (const slot of this.#slots.keys()) if (slot < oldest) this.#slots.delete(slot);
    return Math.max(0, ...this.#slots.values()) / (SLOT_MS / 1_000);
  }
}
