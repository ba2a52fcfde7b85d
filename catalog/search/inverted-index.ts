import type { DocumentTerms } from "./document-terms.ts";

/** What holds a term, and how strongly: two columns of equal length. */
export interface Posting {
  readonly slots: number[];
  readonly impacts: number[];
}

/**
 * Documents by term. A document lives in a slot, a small number that a later document may get when it is gone. An impact
 * depends on its own document alone, so adding and removing leave all others as they are.
 */
export class InvertedIndex {
  private readonly postings = new Map<string, Posting>();
  private readonly termsOfSlot: (readonly string[] | undefined)[] = [];
  private readonly freeSlots: number[] = [];

  /** One more than the largest slot that has been in use. */
  get slotCount(): number {
    return this.termsOfSlot.length;
  }

  add({ terms, impacts }: DocumentTerms): number {
    const slot = this.freeSlots.pop() ?? this.termsOfSlot.length;
    this.termsOfSlot[slot] = terms;
    terms.forEach((term, index) => {
      const impact = impacts[index] ?? 0;
      const posting = this.postings.get(term);
      if (posting === undefined) this.postings.set(term, { slots: [slot], impacts: [impact] });
      else {
        posting.slots.push(slot);
        posting.impacts.push(impact);
      }
    });
    return slot;
  }

  remove(slots: readonly number[]): void {
    const gone = new Set(slots);
    const touched = new Set<string>();
    for (const slot of gone) {
      for (const term of this.termsOfSlot[slot] ?? []) touched.add(term);
      this.termsOfSlot[slot] = undefined;
      this.freeSlots.push(slot);
    }
    for (const term of touched) this.take(term, gone);
  }

  posting(term: string): Posting | undefined {
    return this.postings.get(term);
  }

  terms(): Iterable<string> {
    return this.postings.keys();
  }

  private take(term: string, gone: ReadonlySet<number>): void {
    const posting = this.postings.get(term);
    const kept: Posting = { slots: [], impacts: [] };
    posting?.slots.forEach((slot, index) => {
      if (gone.has(slot)) return;
      kept.slots.push(slot);
      kept.impacts.push(posting.impacts[index] ?? 0);
    });
    if (kept.slots.length === 0) this.postings.delete(term);
    else this.postings.set(term, kept);
  }
}
