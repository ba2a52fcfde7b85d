import { isActionWord } from "./common-words.ts";
import type { Posting } from "./posting-lists.ts";
import type { QueryWord } from "./query-terms.ts";

/** Whoever names a need in so few words means each of them; in a longer text most words are circumstances. */
const MAX_WORDS_OF_A_NEED = 4;
/** The share of a need that one word which a tool has must be, when the tool has no other. */
const MIN_SHARE = 0.45;
/** How much a word counts that says what is done, and not to what: a tool that sends something else does not fit. */
const ACTION_WEIGHT = 0.5;
/**
 * A word counts for less from so little impact on: it stands in the descriptions of parameters alone, or once in a long text, and says
 * what the tool is given or how, not what it does.
 */
const SUBJECT_IMPACT = 0.22;
const PASSING_WEIGHT = 0.5;
/** How many of the best tools are looked at. */
const LOOKED_AT = 3;

interface Documents {
  /** The documents that have a term, and how much each has of it. */
  posting(term: string): Posting | undefined;
  readonly documents: number;
}

/**
 * Whether one of the best documents is about what a query says. It is not when it has none of the query's telling words, or
 * when it has one word alone of a short query, and the words that it lacks are most of what was said: words count by how
 * rare they are, and one that no document has like the rarest. In doubt it is.
 */
export function fitsQuery(
  clauses: readonly (readonly QueryWord[])[],
  best: readonly number[],
  index: Documents,
): boolean {
  const count = new Set(clauses.flat().map(({ text }) => text)).size;
  if (count === 0) return true;
  return clauses.some((words) => {
    const counted = words.map(({ text, terms }) => {
      const postings = terms.flatMap((term) => index.posting(term) ?? []);
      const rarity = rarityOf(Math.max(1, ...postings.map(({ slots }) => slots.length)), index);
      return { postings, rarity: isActionWord(text) ? ACTION_WEIGHT * rarity : rarity };
    });
    const all = counted.reduce((sum, { rarity }) => sum + rarity, 0);
    return best.slice(0, LOOKED_AT).some((slot) => {
      const has = counted.flatMap(({ postings, rarity }) => {
        const impact = Math.max(0, ...postings.map((posting) => impactOn(slot, posting)));
        return impact === 0 ? [] : [{ rarity, isSubject: impact >= SUBJECT_IMPACT }];
      });
      if (has.length === 0) return false;
      const share =
        has.reduce((sum, { rarity, isSubject }) => sum + (isSubject ? rarity : PASSING_WEIGHT * rarity), 0) /
        all;
      return (
        count > MAX_WORDS_OF_A_NEED ||
        (has.length > 1 && has.some(({ isSubject }) => isSubject)) ||
        share >= MIN_SHARE
      );
    });
  });
}

function impactOn(slot: number, { slots, impacts }: Posting): number {
  const at = slots.indexOf(slot);
  return at < 0 ? 0 : (impacts[at] as number);
}

/**
 * How much of a query a document says: of the clause of which it says most, the share of the telling words, by how rare they
 * are. From 0 to 1; 0 where no clause has two such words, since one word alone is in a document by chance.
 */
export function coverageOf(
  clauses: readonly (readonly QueryWord[])[],
  document: number,
  index: Documents,
): number {
  const shares = clauses.map((words) => {
    if (words.length < 2) return 0;
    let has = 0;
    let all = 0;
    for (const { terms } of words) {
      const postings = terms.flatMap((term) => index.posting(term)?.slots ?? []);
      const rarity = rarityOf(Math.max(1, ...postings.map(({ length }) => length)), index);
      all += rarity;
      if (postings.some((slots) => slots.includes(document))) has += rarity;
    }
    return all === 0 ? 0 : has / all;
  });
  return Math.max(0, ...shares);
}

function rarityOf(having: number, { documents }: Documents): number {
  return Math.log(1 + Math.max(0, documents - having + 0.5) / (having + 0.5));
}
