/** A running program's place. */
export interface ProgramPlace {
  /** Lends the place to other programs while this one waits for a person. */
  pause(): void;
  /** Takes the place back, at once: then more programs than usual may run for a while. */
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
  /** Receives how many programs are before this one: when it starts to wait, and whenever that changes. */
  onPosition: (before: number) => void;
  /** Is called when a place is free and it is this program's turn. Never rejects. If absent, the program begins. */
  enter?: (() => Promise<Entry<Entered, Refused>>) | undefined;
}

/** A place with what `enter` gave, or why there is none. */
export type Placed<Entered, Refused> =
  | { kind: "placed"; place: ProgramPlace; entered?: Entered }
  | { kind: "none"; why: NoPlace }
  | { kind: "refused"; value: Refused };

interface Waiter<Entered, Refused> extends Pick<Waiting<Entered, Refused>, "onPosition" | "enter"> {
  settle: (placed: Placed<Entered, Refused>) => void;
  /** Whether it no longer waits. */
  isSettled: boolean;
  /** Why it has to wait although a place is free. */
  held: Refused | undefined;
  /** The number that it was told last. */
  told: number | undefined;
}

interface Turns {
  /** Places that a principal holds and does not lend. */
  running: number;
  /** The turn in which it was last given a place; 0 for never. */
  lastTurn: number;
}

/** What waits and runs of one principal. */
interface Line<Entered, Refused> extends Turns {
  /** Longest waiting first. */
  readonly waiting: Waiter<Entered, Refused>[];
  /** While a place is free and this one may not have it: ends the wait. */
  held: NodeJS.Timeout | undefined;
}

/** The most programs that wait, of all principals together. */
const MAX_WAITING = 10_000;

/**
 * Places for running programs, and the queue in front of them. Within a principal programs begin in the order of arrival. Between
 * principals a free place goes to the one that has the fewest, and of several to the one whose last turn is the longest ago: so a
 * principal that has nothing running waits for one program to end, however many another has queued.
 *
 * A program that waits for a person holds a sandbox but no place. As many as there are places may do so; of more, each keeps
 * its place.
 */
export class ProgramPlaces<Entered = never, Refused = never> {
  readonly #limits: () => PlaceLimits;
  readonly #held = new Set<ProgramPlace>();
  readonly #paused = new Set<ProgramPlace>();
  readonly #lines = new Map<string, Line<Entered, Refused>>();
  #waiting = 0;
  #turns = 0;

  /** @param limits the limits as they are just now. */
  constructor(limits: () => PlaceLimits) {
    this.#limits = limits;
  }

  get limits(): PlaceLimits {
    return this.#limits();
  }

  /** Resolves with a place, or with the reason why there is none. Never rejects. */
  async take({
    principal,
    patienceMs,
    signal,
    onPosition,
    enter,
  }: Waiting<Entered, Refused>): Promise<Placed<Entered, Refused>> {
    if (signal.aborted) return { kind: "none", why: "cancelled" };
    const line = this.#lineOf(principal);
    if (this.#waiting === 0 && this.#hasRoom() && enter === undefined)
      return { kind: "placed", place: this.#occupy(principal, line) };
    if (line.waiting.length >= this.#limits().maxQueued || this.#waiting >= MAX_WAITING) {
      this.#forget(principal, line);
      return { kind: "none", why: "full" };
    }
    return new Promise((resolve) => {
      const leave = (why: NoPlace) => {
        if (waiter.isSettled) return;
        const at = line.waiting.indexOf(waiter);
        if (at >= 0) {
          line.waiting.splice(at, 1);
          this.#waiting--;
        }
        const { held } = waiter;
        waiter.settle(
          why === "late" && held !== undefined ? { kind: "refused", value: held } : { kind: "none", why },
        );
        this.#forget(principal, line);
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
          waiter.isSettled = true;
          clearTimeout(timer);
          signal.removeEventListener("abort", cancel);
          resolve(placed);
        },
      };
      signal.addEventListener("abort", cancel, { once: true });
      line.waiting.push(waiter);
      this.#waiting++;
      this.#admit();
      if (line.waiting.includes(waiter)) this.#tellPositions();
    });
  }

  #lineOf(principal: string): Line<Entered, Refused> {
    const line = this.#lines.get(principal) ?? { waiting: [], running: 0, lastTurn: 0, held: undefined };
    this.#lines.set(principal, line);
    return line;
  }

  /** Forgets a principal of whom nothing waits or runs. */
  #forget(principal: string, line: Line<Entered, Refused>): void {
    if (line.waiting.length > 0 || line.running > 0) return;
    clearTimeout(line.held);
    if (this.#lines.get(principal) === line) this.#lines.delete(principal);
  }

  #hasRoom(): boolean {
    const { maxRunning } = this.#limits();
    const lent = Math.min(this.#paused.size, maxRunning);
    return this.#held.size - lent < maxRunning;
  }

  #occupy(principal: string, line: Line<Entered, Refused>): ProgramPlace {
    this.#lines.set(principal, line);
    line.running++;
    line.lastTurn = ++this.#turns;
    const place: ProgramPlace = {
      pause: () => {
        if (!this.#held.has(place) || this.#paused.has(place)) return;
        this.#paused.add(place);
        line.running--;
        this.#admit();
      },
      resume: () => {
        if (!this.#paused.delete(place)) return;
        this.#lines.set(principal, line);
        line.running++;
      },
      free: () => {
        if (!this.#held.has(place)) return;
        // What its principal waits for may have been this program's end.
        this.#release(line);
        this.#giveBack(place, principal, line);
      },
    };
    this.#held.add(place);
    return place;
  }

  #giveBack(place: ProgramPlace, principal: string, line: Line<Entered, Refused>): void {
    if (!this.#held.delete(place)) return;
    if (!this.#paused.delete(place)) line.running--;
    this.#forget(principal, line);
    this.#admit();
  }

  #admit(): void {
    let admitted = false;
    while (this.#waiting > 0 && this.#hasRoom()) {
      const next = this.#next();
      if (next === undefined) break;
      const [principal, line] = next;
      const waiter = line.waiting.shift();
      if (waiter === undefined) break;
      this.#waiting--;
      admitted = true;
      const place = this.#occupy(principal, line);
      if (waiter.enter === undefined) waiter.settle({ kind: "placed", place });
      else void this.#enter(waiter, waiter.enter, { place, principal, line });
    }
    if (admitted) this.#tellPositions();
  }

  /** The principal whose turn it is. */
  #next(): [string, Line<Entered, Refused>] | undefined {
    let best: [string, Line<Entered, Refused>] | undefined;
    for (const entry of this.#lines) {
      const [, line] = entry;
      if (line.waiting.length === 0 || line.held !== undefined) continue;
      if (best === undefined || isBefore(line, best[1])) best = entry;
    }
    return best;
  }

  /** Asks whether the program may begin, while it holds the place. */
  async #enter(
    waiter: Waiter<Entered, Refused>,
    enter: () => Promise<Entry<Entered, Refused>>,
    { place, principal, line }: { place: ProgramPlace; principal: string; line: Line<Entered, Refused> },
  ): Promise<void> {
    const entry = await enter();
    if (entry.kind === "entered" && !waiter.isSettled)
      return waiter.settle({ kind: "placed", place, entered: entry.value });
    if (entry.kind === "entered") entry.undo?.();
    else if (entry.kind === "refused" && !waiter.isSettled)
      waiter.settle({ kind: "refused", value: entry.value });
    else if (entry.kind === "later" && !waiter.isSettled) {
      waiter.held = entry.why;
      line.waiting.unshift(waiter);
      this.#waiting++;
      this.#hold(line, entry.afterMs);
    }
    this.#giveBack(place, principal, line);
  }

  #hold(line: Line<Entered, Refused>, afterMs: number): void {
    clearTimeout(line.held);
    line.held = setTimeout(() => {
      this.#release(line);
      this.#admit();
    }, afterMs);
  }

  #release(line: Line<Entered, Refused>): void {
    clearTimeout(line.held);
    line.held = undefined;
  }

  /** Tells each that waits how many go before it if nothing changes: the n-th of a principal goes after n of each other's. */
  #tellPositions(): void {
    const lines = [...this.#lines.values()].filter(({ waiting }) => waiting.length > 0);
    lines.sort((one, other) => (isBefore(one, other) ? -1 : 1));
    let before = 0;
    for (let round = 0; before < this.#waiting; round++) {
      for (const { waiting } of lines) {
        const waiter = waiting[round];
        if (waiter === undefined) continue;
        const position = before++;
        if (waiter.told === position) continue;
        waiter.told = position;
        waiter.onPosition(position);
      }
    }
  }
}

/** Whether one principal gets a free place before another. */
function isBefore(one: Turns, other: Turns): boolean {
  return one.running === other.running ? one.lastTurn < other.lastTurn : one.running < other.running;
}
