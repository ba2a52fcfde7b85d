import { type Posting, PostingLists } from "./posting-lists.ts";
import { SimilarTerms } from "./similar-terms.ts";
import { exactTerm, exactWord } from "./token.ts";

/** Documents that were added together, and the numbers of all terms that they have. */
export interface Batch {
  readonly slots: readonly number[];
  readonly terms: readonly number[];
}

/**
 * Documents by term. A document lives in a slot, a small number that a later document may get when it is gone, and a term
 * has a number likewise. An impact depends on its own document alone, so adding and removing leave all others as they are.
 */
export class InvertedIndex {
  /** The words that documents have, as they are written. */
  readonly similar = new SimilarTerms((word) => this.posting(exactTerm(word)) !== undefined);
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #freeNumbers: number[] = [];
  readonly #postings = new PostingLists();
  readonly #freeSlots: number[] = [];
  #slotCount = 0;

  /** One more than the largest slot that has been in use. */
  get slotCount(): number {
    return this.#slotCount;
  }

  /** One more than the largest number that a term has had. */
  get termCount(): number {
    return this.#texts.length;
  }

  takeSlot(): number {
    return this.#freeSlots.pop() ?? this.#slotCount++;
  }

  find(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  /** The number of a term, which may have no documents yet. */
  numberOf(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#freeNumbers.pop() ?? this.#texts.length;
    this.#texts[number] = text;
    this.#numbers.set(text, number);
    return number;
  }

  add(term: number, slot: number, impact: number): void {
    if (!this.#postings.add(term, slot, impact)) return;
    const word = exactWord(this.#texts[term] as string);
    if (word !== undefined) this.similar.add(word);
  }

  /** Removes what was added together. The numbers of terms that no document has any more may become those of others. */
  remove({ slots, terms }: Batch): void {
    const isGone = new Uint8Array(this.#slotCount);
    for (const slot of slots) {
      isGone[slot] = 1;
      this.#freeSlots.push(slot);
    }
    for (const term of terms) {
      if (!this.#postings.remove(term, isGone)) continue;
      const text = this.#texts[term] as string;
      this.#numbers.delete(text);
      this.#freeNumbers.push(term);
      const word = exactWord(text);
      if (word !== undefined) this.similar.delete(word);
    }
  }

  posting(text: string): Posting | undefined {
    const term = this.#numbers.get(text);
    return term === undefined ? undefined : this.#postings.get(term);
  }
}
