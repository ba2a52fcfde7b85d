interface Line<Item> {
  /** Longest waiting first. */
  readonly waiting: Item[];
  /** How much of what is shared it has. */
  running: number;
  /** The turn in which it last began; 0 for never. */
  lastTurn: number;
  isHeld: boolean;
}

/**
 * Who is next of those that wait for something that is shared. Of one name the one that waits the longest; between names, the name
 * that has the least of what is shared, and of several the one whose last turn is the longest ago. So who has nothing is next,
 * however much another waits for.
 */
export class Turns<Item> {
  readonly #lines = new Map<string, Line<Item>>();
  #waiting = 0;
  #turns = 0;

  /** How many wait. */
  get waiting(): number {
    return this.#waiting;
  }

  waitingOf(who: string): number {
    return this.#lines.get(who)?.waiting.length ?? 0;
  }

  /** How many of somebody's wait, or have some of what is shared. */
  has(who: string): number {
    const { waiting, running } = this.#lines.get(who) ?? { waiting: [], running: 0 };
    return waiting.length + running;
  }

  /** @param where `last`, or `first` for one that had its turn and could not use it. */
  wait(who: string, item: Item, where: "first" | "last" = "last"): void {
    const { waiting } = this.#lineOf(who);
    if (where === "last") waiting.push(item);
    else waiting.unshift(item);
    this.#waiting++;
  }

  /** Takes one out that no longer waits. Whether it did. */
  leave(who: string, item: Item): boolean {
    const line = this.#lines.get(who);
    const at = line?.waiting.indexOf(item) ?? -1;
    if (line === undefined || at < 0) return false;
    line.waiting.splice(at, 1);
    this.#waiting--;
    this.#forget(who, line);
    return true;
  }

  /**
   * Takes the next one out; `undefined` where nobody waits who is not held. It has begun.
   *
   * @param isLast whether it is only for who has nothing.
   */
  next(isLast = false): { who: string; item: Item } | undefined {
    let best: [string, Line<Item>] | undefined;
    for (const entry of this.#lines) {
      const [, line] = entry;
      if (line.waiting.length === 0 || line.isHeld) continue;
      if (best === undefined || isBefore(line, best[1])) best = entry;
    }
    if (best === undefined || (isLast && best[1].running > 0)) return undefined;
    const [who, line] = best;
    const [item] = line.waiting.splice(0, 1) as [Item];
    this.#waiting--;
    this.begin(who);
    return { who, item };
  }

  /** Notes that somebody has some more of what is shared. @param isTurn false for what was lent, and comes back. */
  begin(who: string, isTurn = true): void {
    const line = this.#lineOf(who);
    line.running++;
    if (isTurn) line.lastTurn = ++this.#turns;
  }

  /** Notes that somebody has given some of it back. */
  end(who: string): void {
    const line = this.#lineOf(who);
    line.running--;
    this.#forget(who, line);
  }

  /** Passes somebody by until `release`. */
  hold(who: string): void {
    this.#lineOf(who).isHeld = true;
  }

  release(who: string): void {
    const line = this.#lines.get(who);
    if (line !== undefined) line.isHeld = false;
  }

  /** Those that wait in the order in which they will be next if nothing changes. */
  *inOrder(): Generator<Item> {
    const lines = [...this.#lines.values()].filter(({ waiting }) => waiting.length > 0);
    lines.sort((one, other) => (isBefore(one, other) ? -1 : 1));
    let told = 0;
    for (let round = 0; told < this.#waiting && lines.length > 0; round++)
      for (const { waiting } of lines) {
        const item = waiting[round];
        if (item === undefined) continue;
        told++;
        yield item;
      }
  }

  #lineOf(who: string): Line<Item> {
    const line = this.#lines.get(who) ?? { waiting: [], running: 0, lastTurn: 0, isHeld: false };
    this.#lines.set(who, line);
    return line;
  }

  /** Forgets somebody who waits for nothing and has nothing. */
  #forget(who: string, line: Line<Item>): void {
    if (line.waiting.length === 0 && line.running === 0) this.#lines.delete(who);
  }
}

function isBefore(one: Line<unknown>, other: Line<unknown>): boolean {
  return one.running === other.running ? one.lastTurn < other.lastTurn : one.running < other.running;
}
