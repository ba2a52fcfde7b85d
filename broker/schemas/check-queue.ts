import { RecentlyUsed } from "../../base/recently-used.ts";

/** The owner and the schema of a check. */
export interface QueuedCheck {
  /** The name of the server whose schema it is. */
  owner: string;
  /** The schema's digest. */
  schema: string;
}

const MAX_WAITING = 4_096;
/** The most waiting checks of one owner, so that none can fill the queue alone. */
const MAX_WAITING_OF_OWNER = 512;
const MAX_REMEMBERED = 4_096;

/**
 * Checks that wait for their turn. Owners take turns, and so do the schemas of one owner: the least recently served is next.
 * So however many checks one owner adds, another owner waits for only one of them.
 */
export class CheckQueue<Check extends QueuedCheck> {
  #waiting: Check[] = [];
  #turn = 0;
  readonly #turnOfOwner = new RecentlyUsed<string, number>({ maxEntries: MAX_REMEMBERED });
  readonly #turnOfSchema = new RecentlyUsed<string, number>({ maxEntries: MAX_REMEMBERED });

  /** Adds a check. Returns false when there is no room for it. */
  add(check: Check): boolean {
    if (this.#waiting.length >= MAX_WAITING) return false;
    const ofOwner = this.#waiting.reduce((count, { owner }) => count + (owner === check.owner ? 1 : 0), 0);
    if (ofOwner >= MAX_WAITING_OF_OWNER) return false;
    this.#waiting.push(check);
    return true;
  }

  /** Takes the next check for which `mayTake` returns true. */
  take(mayTake: (check: Check) => boolean): Check | undefined {
    let next: Check | undefined;
    let nextTurns: readonly [number, number] = [0, 0];
    for (const check of this.#waiting) {
      if (!mayTake(check)) continue;
      const turns = this.#turnsOf(check);
      if (next !== undefined && !isBefore(turns, nextTurns)) continue;
      next = check;
      nextTurns = turns;
    }
    if (next === undefined) return undefined;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#turn++;
    this.#turnOfOwner.set(next.owner, this.#turn);
    this.#turnOfSchema.set(next.schema, this.#turn);
    return next;
  }

  /** Takes all checks out of the queue. */
  clear(): Check[] {
    return this.#waiting.splice(0);
  }

  #turnsOf({ owner, schema }: Check): [number, number] {
    return [this.#turnOfOwner.peek(owner) ?? 0, this.#turnOfSchema.peek(schema) ?? 0];
  }
}

function isBefore([owner, schema]: readonly [number, number], other: readonly [number, number]): boolean {
  return owner < other[0] || (owner === other[0] && schema < other[1]);
}
