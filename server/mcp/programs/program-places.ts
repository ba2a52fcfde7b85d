import { Turns } from "../../../base/turns.ts";

/** A running program's place. */
export interface ProgramPlace {
  /** Whether its principal has other programs that run or wait, while other principals are active. */
  readonly isOneOfMany: boolean;
  /** Lends the place to other programs while this one waits for a person. */
  pause(): void;
  /** Takes the place back at once. More programs than usual may then run for a while. */
  resume(): void;
  /** Gives the place up for good. */
  free(): void;
}

/** Why a program got no place: the queue is full, its time is up, or its request was cancelled. */
export type NoPlace = "full" | "late" | "cancelled";

export interface PlaceLimits {
  /** Programs that may run at the same time. */
  readonly maxRunning: number;
  /** Programs of one principal that may wait for a place. */
  readonly maxQueued: number;
}

/**
 * What is asked when a program's turn has come: whether it may begin, whether its principal has to wait a while although a place is
 * free, or why it may not begin at all.
 */
export type Entry<Entered, Refused> =
  /** `undo` is called when the program has given up meanwhile. */
  | { kind: "entered"; value: Entered; undo?: () => void }
  /** `why` is what it reads when its time is up meanwhile. */
  | { kind: "later"; afterMs: number; why?: Refused }
  | { kind: "refused"; value: Refused };

interface Waiting<Entered, Refused> {
  /** Who waits. Principals take turns. */
  principal: string;
  /** How long the program waits at most. */
  patienceMs: number;
  signal: AbortSignal;
  /** Receives the number of programs before this one when it starts to wait, and whenever that number changes. */
  onPosition: (before: number) => void;
  /** Is called when a place is free and it is this program's turn. If absent, the program begins. */
  enter?: (() => Promise<Entry<Entered, Refused>>) | undefined;
}

/** A place with what `enter` gave, or why there is none. */
export type Placed<Entered, Refused> =
  | { kind: "placed"; place: ProgramPlace; entered?: Entered }
  | { kind: "none"; why: NoPlace }
  | { kind: "refused"; value: Refused };

interface Waiter<Entered, Refused> extends Pick<Waiting<Entered, Refused>, "onPosition" | "enter"> {
  settle: (placed: Placed<Entered, Refused>) => void;
  /** Ends its waiting because of a fault. */
  fail: (fault: unknown) => void;
  /** Whether it no longer waits. */
  isSettled: boolean;
  /** Why it has to wait although a place is free. */
  held: Refused | undefined;
  /** The last number that it received. */
  told: number | undefined;
}

/** How long a principal counts as active after asking for a place. */
const ABOUT_MS = 60_000;

/** The most programs that wait, of all principals together. */
const MAX_WAITING = 10_000;

/**
 * Places for running programs, and the queue in front of them. Principals take turns in it (turns.ts): a principal with nothing
 * running waits for one program to end, however many another has queued. While several principals are active, the last place is kept for
 * one with nothing running, who then need not wait at all.
 *
 * A program that waits for a person holds a sandbox but no place. As many as there are places may do so; of more, each keeps
 * its place.
 */
export class ProgramPlaces<Entered = never, Refused = never> {
  readonly #limits: () => PlaceLimits;
  readonly #held = new Set<ProgramPlace>();
  readonly #paused = new Set<ProgramPlace>();
  readonly #turns = new Turns<Waiter<Entered, Refused>>();
  /** When each principal asked last, in this order. */
  readonly #asked = new Map<string, number>();
  /** Principals that are passed by for a while. */
  readonly #timers = new Map<string, NodeJS.Timeout>();

  /** @param limits returns the present limits. */
  constructor(limits: () => PlaceLimits) {
    this.#limits = limits;
  }

  get limits(): PlaceLimits {
    return this.#limits();
  }

  /** Resolves with a place, or with the reason why there is none. Rejects only as `enter` does. */
  async take({
    principal,
    patienceMs,
    signal,
    onPosition,
    enter,
  }: Waiting<Entered, Refused>): Promise<Placed<Entered, Refused>> {
    if (signal.aborted) return { kind: "none", why: "cancelled" };
    const { waiting } = this.#turns;
    this.#note(principal);
    if (waiting === 0 && this.#hasRoom() && !this.#isLast && enter === undefined) {
      this.#turns.begin(principal);
      return { kind: "placed", place: this.#occupy(principal) };
    }
    const isFull = this.#turns.waitingOf(principal) >= this.#limits().maxQueued || waiting >= MAX_WAITING;
    if (isFull && !this.#isOpen) return { kind: "none", why: "full" };
    return new Promise((resolve, reject) => {
      const leave = (why: NoPlace) => {
        if (waiter.isSettled) return;
        this.#turns.leave(principal, waiter);
        const { held } = waiter;
        const isHeldBack = why === "late" && held !== undefined;
        waiter.settle(isHeldBack ? { kind: "refused", value: held } : { kind: "none", why });
        this.#tellPositions();
      };
      const cancel = () => leave("cancelled");
      const timer = setTimeout(() => leave("late"), patienceMs);
      const waiter: Waiter<Entered, Refused> = {
        onPosition,
        enter,
        isSettled: false,
        held: undefined,
        told: undefined,
        settle(placed) {
          end();
          resolve(placed);
        },
        fail(fault) {
          end();
          reject(fault);
        },
      };
      const end = () => {
        waiter.isSettled = true;
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
      };
      signal.addEventListener("abort", cancel, { once: true });
      this.#turns.wait(principal, waiter);
      this.#admit();
      this.#tellPositions();
    });
  }

  /** Whether one that comes now begins at once, and does not wait. */
  get #isOpen(): boolean {
    return this.#turns.waiting === 0 && this.#hasRoom();
  }

  #note(principal: string): void {
    const now = performance.now();
    this.#asked.delete(principal);
    this.#asked.set(principal, now);
    for (const [who, at] of this.#asked) {
      if (now - at < ABOUT_MS) break;
      this.#asked.delete(who);
    }
  }

  /** Whether only one place is free while several principals are active. */
  get #isLast(): boolean {
    const { maxRunning } = this.#limits();
    if (maxRunning < 2 || this.#asked.size < 2) return false;
    return this.#held.size - Math.min(this.#paused.size, maxRunning) === maxRunning - 1;
  }

  #hasRoom(): boolean {
    const { maxRunning } = this.#limits();
    const lent = Math.min(this.#paused.size, maxRunning);
    return this.#held.size - lent < maxRunning;
  }

  /** A place of a principal whose turn has begun. */
  #occupy(principal: string): ProgramPlace {
    const isOneOfMany = this.#asked.size > 1 && this.#turns.has(principal) > 1;
    const place: ProgramPlace = {
      isOneOfMany,
      pause: () => {
        if (!this.#held.has(place) || this.#paused.has(place)) return;
        this.#paused.add(place);
        this.#turns.end(principal);
        this.#admit();
      },
      resume: () => {
        if (this.#paused.delete(place)) this.#turns.begin(principal, false);
      },
      free: () => {
        // What its principal waits for may have been this program's end.
        this.#release(principal);
        this.#giveBack(place, principal);
      },
    };
    this.#held.add(place);
    return place;
  }

  #giveBack(place: ProgramPlace, principal: string): void {
    if (!this.#held.delete(place)) return;
    if (!this.#paused.delete(place)) this.#turns.end(principal);
    this.#admit();
  }

  #admit(): void {
    let admitted = false;
    while (this.#hasRoom()) {
      const next = this.#turns.next(this.#isLast);
      if (next === undefined) break;
      admitted = true;
      const { who, item: waiter } = next;
      const place = this.#occupy(who);
      if (waiter.enter === undefined) waiter.settle({ kind: "placed", place });
      else void this.#enter(waiter, waiter.enter, place, who);
    }
    if (admitted) this.#tellPositions();
  }

  /** Waits for what says whether the program may begin, while it holds the place. */
  async #enter(
    waiter: Waiter<Entered, Refused>,
    enter: () => Promise<Entry<Entered, Refused>>,
    place: ProgramPlace,
    principal: string,
  ): Promise<void> {
    try {
      const entry = await enter();
      if (entry.kind === "entered" && !waiter.isSettled)
        return waiter.settle({ kind: "placed", place, entered: entry.value });
      if (entry.kind === "entered") entry.undo?.();
      else if (entry.kind === "refused" && !waiter.isSettled)
        waiter.settle({ kind: "refused", value: entry.value });
      else if (entry.kind === "later" && !waiter.isSettled) {
        waiter.held = entry.why;
        this.#turns.wait(principal, waiter, "first");
        this.#hold(principal, entry.afterMs);
      }
    } catch (fault) {
      waiter.fail(fault);
    }
    this.#giveBack(place, principal);
    this.#tellPositions();
  }

  #hold(principal: string, afterMs: number): void {
    clearTimeout(this.#timers.get(principal));
    this.#turns.hold(principal);
    const timer = setTimeout(() => {
      this.#release(principal);
      this.#admit();
    }, afterMs);
    this.#timers.set(principal, timer);
  }

  #release(principal: string): void {
    clearTimeout(this.#timers.get(principal));
    this.#timers.delete(principal);
    this.#turns.release(principal);
  }

  /** Tells each that waits how many go before it if nothing changes. */
  #tellPositions(): void {
    let before = 0;
    for (const waiter of this.#turns.inOrder()) {
      const position = before++;
      if (waiter.told === position) continue;
      waiter.told = position;
      waiter.onPosition(position);
    }
  }
}
