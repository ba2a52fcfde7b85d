/** A running program's place. */
export interface ProgramPlace {
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
  /** Programs that may wait for a place. */
  readonly maxQueued: number;
}

interface Waiting {
  /** The longest time that the program waits. */
  patienceMs: number;
  signal: AbortSignal;
  /** Receives the number of programs before this one when it starts to wait, and whenever that number changes. */
  onPosition: (before: number) => void;
}

interface Waiter {
  onPosition: (before: number) => void;
  admit: () => void;
}

/**
 * Places for running programs, and the queue in front of them, in the order of arrival. A program that waits for a person holds a
 * sandbox but lends its place. At most as many programs as there are places can lend theirs.
 */
export class ProgramPlaces {
  readonly #limits: () => PlaceLimits;
  readonly #held = new Set<ProgramPlace>();
  readonly #paused = new Set<ProgramPlace>();
  /** Longest waiting first. */
  readonly #queue: Waiter[] = [];

  /** @param limits returns the present limits. */
  constructor(limits: () => PlaceLimits) {
    this.#limits = limits;
  }

  get limits(): PlaceLimits {
    return this.#limits();
  }

  /** Resolves with a place, or with the reason why there is none. Never rejects. */
  async take({ patienceMs, signal, onPosition }: Waiting): Promise<ProgramPlace | NoPlace> {
    if (signal.aborted) return "cancelled";
    if (this.#queue.length === 0 && this.#hasRoom()) return this.#occupy();
    if (this.#queue.length >= this.#limits().maxQueued) return "full";
    return new Promise((resolve) => {
      const settle = (outcome: ProgramPlace | NoPlace) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
        resolve(outcome);
      };
      const waiter: Waiter = { onPosition, admit: () => settle(this.#occupy()) };
      const leave = (reason: NoPlace) => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1);
        settle(reason);
        this.#tellPositions();
      };
      const cancel = () => leave("cancelled");
      const timer = setTimeout(() => leave("late"), patienceMs);
      signal.addEventListener("abort", cancel, { once: true });
      this.#queue.push(waiter);
      onPosition(this.#queue.length - 1);
    });
  }

  #hasRoom(): boolean {
    const { maxRunning } = this.#limits();
    const lent = Math.min(this.#paused.size, maxRunning);
    return this.#held.size - lent < maxRunning;
  }

  #occupy(): ProgramPlace {
    const place: ProgramPlace = {
      pause: () => {
        if (!this.#held.has(place)) return;
        this.#paused.add(place);
        this.#admit();
      },
      resume: () => {
        this.#paused.delete(place);
      },
      free: () => {
        this.#paused.delete(place);
        this.#held.delete(place);
        this.#admit();
      },
    };
    this.#held.add(place);
    return place;
  }

  #admit(): void {
    let admitted = false;
    while (this.#hasRoom()) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      next.admit();
      admitted = true;
    }
    if (admitted) this.#tellPositions();
  }

  #tellPositions(): void {
    for (const [before, waiter] of this.#queue.entries()) waiter.onPosition(before);
  }
}
