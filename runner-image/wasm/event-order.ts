import { SeriesReader, SeriesWriter } from "../../protocol/series.ts";

/** Something that can be delivered to the program: the answer to a call, or a due timer. */
interface PendingEvent {
  deliver(): void;
  /** The replay has ended: the event is no longer held, and happens in its own time. */
  release(): void;
}

export const callEvent = (id: number) => 2 * id;
export const timerEvent = (id: number) => 2 * id + 1;

/**
 * The order in which calls are answered and timers fire, for a program that waits for nothing else. A live run logs it. A replay holds
 * every answer and timer until its turn. Between two events the program does all that follows from the first.
 */
export class WasmEventOrder {
  readonly log: SeriesWriter;
  readonly #held = new Map<number, PendingEvent>();
  #replay: SeriesReader | undefined;
  #next: number | undefined;

  constructor(maxLogBytes: number) {
    this.log = new SeriesWriter(maxLogBytes);
  }

  replay(events: string): void {
    this.#replay = new SeriesReader(events);
    this.#next = this.#replay.next();
    if (this.#next === undefined) this.#replay = undefined;
  }

  get replaying(): boolean {
    return this.#replay !== undefined;
  }

  /** An event may happen: now in a live run, and in a replay when it is its turn. */
  add(event: number, pending: PendingEvent): void {
    if (this.replaying) this.#held.set(event, pending);
    else pending.release();
  }

  /** Logs and delivers an event in a live run. */
  happen(event: number, deliver: () => void): void {
    this.log.push(event);
    deliver();
  }

  drop(event: number): void {
    this.#held.delete(event);
  }

  /**
   * The program rests. In a replay, delivers the event whose turn it is, and returns true. If it has not come, and `isExpected` says
   * that it will, waits for it. If it cannot come, the program differs from the recorded one, and runs live from here.
   */
  step(isExpected: (event: number) => boolean): boolean {
    if (this.#next === undefined) return false;
    const event = this.#next;
    const pending = this.#held.get(event);
    if (pending === undefined) {
      if (!isExpected(event)) this.#leave();
      return false;
    }
    this.#held.delete(event);
    this.#next = this.#replay?.next();
    if (this.#next === undefined) this.#leave();
    this.happen(event, pending.deliver);
    return true;
  }

  #leave(): void {
    this.#replay = undefined;
    this.#next = undefined;
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const pending of held) pending.release();
  }
}
