import type { Posting } from "./posting-lists.ts";

/** Scores of documents by slot, of which most have none. */
export class Scores {
  readonly #scores: Float64Array;
  #scored: number[] = [];

  constructor(slotCount: number) {
    this.#scores = new Float64Array(slotCount);
  }

  add(slot: number, score: number): void {
    const before = this.of(slot);
    if (before === 0) this.#scored.push(slot);
    this.#scores[slot] = before + score;
  }

  of(slot: number): number {
    return this.#scores[slot] ?? 0;
  }

  /** Leaves these slots without a score. */
  drop(isDropped: (slot: number) => boolean): void {
    this.#scored = this.#scored.filter((slot) => {
      if (!isDropped(slot)) return true;
      this.#scores[slot] = 0;
      return false;
    });
  }

  /** Slots that have a score, in no particular order. */
  slots(): readonly number[] {
    return this.#scored;
  }

  clear(): void {
    for (const slot of this.#scored) this.#scores[slot] = 0;
    this.#scored = [];
  }

  best(): number {
    return this.#scored.reduce((most, slot) => Math.max(most, this.of(slot)), 0);
  }

  /** The slots with the largest scores, best first and at most `limit`, and how many score at least `least`. */
  top(limit: number, least: number, precedes: (a: number, b: number) => boolean) {
    const top: number[] = [];
    const isBetter = (a: number, b: number) =>
      this.of(a) > this.of(b) || (this.of(a) === this.of(b) && precedes(a, b));
    let total = 0;
    for (const slot of this.#scored) {
      if (this.of(slot) < least) continue;
      total++;
      let place = top.length;
      while (place > 0 && isBetter(slot, top[place - 1] as number)) place--;
      if (place >= limit) continue;
      top.splice(place, 0, slot);
      if (top.length > limit) top.pop();
    }
    return { slots: top, total };
  }
}

/** How much the clause that fits a document best adds to what the whole query scores. */
const CLAUSE_WEIGHT = 0.5;

/** Scores of a query's clauses: each of its terms counts once, and the clause that fits a document best counts more. */
export class ClauseScores {
  readonly capacity: number;
  readonly #total: Scores;
  readonly #best: Scores;
  readonly #ofNewTerms: Scores;
  readonly #ofKnownTerms: Scores;
  #clauses = 0;

  /** `capacity` is one more than the largest slot that can be scored. */
  constructor(capacity: number) {
    this.capacity = capacity;
    this.#total = new Scores(capacity);
    this.#best = new Scores(capacity);
    this.#ofNewTerms = new Scores(capacity);
    this.#ofKnownTerms = new Scores(capacity);
  }

  clear(): void {
    this.#clauses = 0;
    for (const scores of [this.#total, this.#best, this.#ofNewTerms, this.#ofKnownTerms]) scores.clear();
  }

  /** Adds a term of the present clause. `isRepeated`: an earlier clause had it too. */
  add({ slots, impacts }: Posting, weight: number, isRepeated: boolean): void {
    const scores = isRepeated ? this.#ofKnownTerms : this.#ofNewTerms;
    for (let index = 0; index < slots.length; index++) {
      scores.add(slots[index] as number, (impacts[index] as number) * weight);
    }
  }

  /** Ends a clause. Returns the slot that fits it best, of those that are in question. */
  endClause(isInQuestion: (slot: number) => boolean): number | undefined {
    this.#clauses++;
    let best: number | undefined;
    let most = 0;
    for (const slot of new Set([...this.#ofNewTerms.slots(), ...this.#ofKnownTerms.slots()])) {
      const score = this.#ofNewTerms.of(slot) + this.#ofKnownTerms.of(slot);
      if (score > most && isInQuestion(slot)) [best, most] = [slot, score];
    }
    for (const slot of this.#ofKnownTerms.slots()) this.#raiseBest(slot);
    for (const slot of this.#ofNewTerms.slots()) {
      this.#raiseBest(slot);
      this.#total.add(slot, this.#ofNewTerms.of(slot));
    }
    this.#ofNewTerms.clear();
    this.#ofKnownTerms.clear();
    return best;
  }

  combined(): Scores {
    if (this.#clauses < 2) return this.#total;
    for (const slot of this.#best.slots()) this.#total.add(slot, CLAUSE_WEIGHT * this.#best.of(slot));
    return this.#total;
  }

  #raiseBest(slot: number): void {
    const score = this.#ofNewTerms.of(slot) + this.#ofKnownTerms.of(slot);
    const before = this.#best.of(slot);
    if (score > before) this.#best.add(slot, score - before);
  }
}
