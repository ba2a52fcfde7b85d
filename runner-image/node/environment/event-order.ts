import { createHook } from "node:async_hooks";
import { SeriesReader, SeriesWriter } from "../../../protocol/series.ts";

const { setImmediate, setTimeout } = globalThis;

/** Half of the time that a replay waits for other work to settle. After that it delivers the next event anyway. */
const PATIENCE_MS = 250;
/** The same, after one wait was in vain, until other work does settle. */
const LOST_PATIENCE_MS = 10;

/** How many turns of the event loop are requested ahead. */
const MAX_TURNS_AHEAD = 32;

/** Asynchronous resources that belong to computing by the program or the runner; all others wait for something outside. */
const INNER_RESOURCES: ReadonlySet<string> = new Set([
  "TickObject",
  "Microtask",
  "Timeout",
  "Immediate",
  "WRITEWRAP",
  "PROMISE",
]);

/** Something that can be delivered to the program: the answer to a call, or a due timer. */
interface PendingEvent {
  deliver(): void;
  /** The replay has ended: the event is no longer held, and happens in its own time. */
  release(): void;
}

/** The answers of the host to calls in flight. */
export interface Answers {
  /** Keeps the process alive until this call is answered. False when there is no such call in flight. */
  expect(callId: number): boolean;
  /** The replay has ended: all calls in flight keep the process alive. */
  release(): void;
}

export const callEvent = (id: number) => 2 * id;
export const timerEvent = (id: number) => 2 * id + 1;

/**
 * The order in which calls are answered and timers fire. A live run logs it. A replay holds every answer and timer until its
 * turn; no real time need pass. Each is delivered in a separate turn of the event loop, live and replayed, so that its
 * consequences are done before the next.
 *
 * Files, compression, child processes and the like are not logged. A replay lets them settle before the next event, as if they
 * took no time.
 */
export class EventOrder {
  log: SeriesWriter;
  readonly #maxLogBytes: number;
  readonly #held = new Map<number, PendingEvent>();
  #answers: Answers | undefined;
  #replay: SeriesReader | undefined;
  #next: number | undefined;
  #steps = 0;
  #patienceMs = PATIENCE_MS;
  #turns = 0;
  #outsideWork = false;
  #hearsRest = false;
  readonly #watchResources = createHook({
    trackPromises: false,
    init: (_id, type) => {
      if (!INNER_RESOURCES.has(type)) this.#outsideWork = true;
    },
  } as Parameters<typeof createHook>[0]);

  constructor(maxLogBytes: number) {
    this.#maxLogBytes = maxLogBytes;
    this.log = new SeriesWriter(maxLogBytes);
  }

  /** Begins a live run with nothing left of the one before. */
  start(): void {
    this.log = new SeriesWriter(this.#maxLogBytes);
    if (this.replaying) this.#watchResources.disable();
    this.#replay = undefined;
    this.#next = undefined;
    this.#held.clear();
    this.#outsideWork = false;
    this.#patienceMs = PATIENCE_MS;
  }

  /** Begins a replay of a log. */
  replay(events: string, answers: Answers): void {
    this.#answers = answers;
    this.#replay = new SeriesReader(events);
    this.#advance();
    if (!this.replaying) return;
    this.#watchResources.enable();
    this.#watch(this.#replay);
    if (this.#hearsRest) return;
    this.#hearsRest = true;
    this.#hearRest();
  }

  get replaying(): boolean {
    return this.#replay !== undefined;
  }

  /** In a live run: delivers an event now. */
  happen(event: number, deliver: () => void): void {
    this.log.push(event);
    deliver();
  }

  /** In a replay: holds an event until its turn. */
  hold(event: number, pending: PendingEvent): void {
    this.#held.set(event, pending);
    this.look();
  }

  drop(event: number): void {
    this.#held.delete(event);
  }

  /** Delivers the next event of the log if it has arrived. Called whenever an event arrives. */
  look(): void {
    if (this.#next === undefined) return;
    if (!this.#held.has(this.#next)) this.#expectAnswer();
    else if (!this.#outsideWork) this.#takeTurns();
  }

  #expectAnswer(): boolean {
    const next = this.#next;
    return next !== undefined && next % 2 === 0 && this.#answers?.expect(next / 2) === true;
  }

  /** Delivers held events in the order of the log, each in a separate turn of the event loop. */
  #takeTurns(): void {
    const turns = Math.min(this.#held.size, MAX_TURNS_AHEAD);
    for (; this.#turns < turns; this.#turns++) {
      setImmediate(() => {
        this.#turns--;
        if (!this.#outsideWork) this.#deliverNext();
      });
    }
  }

  #deliverNext(): void {
    if (this.#next === undefined) return;
    const event = this.#next;
    const pending = this.#held.get(event);
    if (pending === undefined) return;
    this.#held.delete(event);
    this.#steps++;
    this.#advance();
    try {
      this.happen(event, pending.deliver);
    } finally {
      this.look();
    }
  }

  #advance(): void {
    this.#next = this.#replay?.next();
    if (this.#next === undefined) this.#leave();
  }

  /** The log has ended, or the program differs from the recorded one: from here on it runs live. */
  #leave(): void {
    this.#replay = undefined;
    this.#next = undefined;
    this.#watchResources.disable();
    this.#answers?.release();
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const pending of held) pending.release();
  }

  /** Called when no other work is left. Returns false if no held event can be delivered either. */
  #rest(): boolean {
    this.#outsideWork = false;
    this.#patienceMs = PATIENCE_MS;
    if (!this.replaying) return false;
    if (this.#next !== undefined && this.#held.has(this.#next)) this.#takeTurns();
    else if (!this.#expectAnswer()) {
      this.#leave();
      // Makes the event loop check again whether there is something to wait for.
      setImmediate(() => {});
    }
    return true;
  }

  /** Intercepts `beforeExit`. While a replay has events left, the program's listeners do not get it. */
  #hearRest(): void {
    const { emit } = process;
    Object.defineProperty(process, "emit", {
      value: (name: string, ...args: unknown[]): boolean =>
        name === "beforeExit" && this.#rest() ? true : Reflect.apply(emit, process, [name, ...args]),
      writable: true,
      configurable: true,
    });
  }

  /**
   * A server that stays open never settles: the next event is then delivered after a while. It has to be found waiting twice,
   * since a long computation in the program also keeps everything from settling.
   */
  #watch(replay: SeriesReader | undefined, found = 0): void {
    const steps = this.#steps;
    setTimeout(() => {
      if (replay === undefined || this.#replay !== replay) return;
      const waits = steps === this.#steps && this.#next !== undefined && this.#held.has(this.#next);
      if (waits && found > 0) {
        this.#patienceMs = LOST_PATIENCE_MS;
        this.#deliverNext();
      }
      this.#watch(replay, waits ? found + 1 : 0);
    }, this.#patienceMs).unref();
  }
}
