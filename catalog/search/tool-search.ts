import { type Batch, DocumentTerms, InvertedIndex, type Posting } from "./inverted-index.ts";
import { coverageOf, fitsQuery, parseQuery } from "./query.ts";
import { canBeMeant, fieldTexts, type SearchableTool } from "./searchable-text.ts";
import { NameLookup, similarNames } from "./similar-names.ts";

export interface SearchHit {
  tool: SearchableTool;
  /** Larger is better. Comparable within one search only. */
  score: number;
}

export interface SearchHits {
  /** Best first; equal scores by namespaced name. */
  results: SearchHit[];
  /** How many tools match, of which `results` are the first: more than `results.length` means that some are not shown. */
  total: number;
  /** Set when even the best of them has next to nothing of what the query says. */
  fitsPoorly?: true;
  /** Set when the query is the name of the first of them, where `coverage` was asked for. */
  isName?: true;
  /** How much of the query the first of them says, from 0 to 1, where that was asked for. */
  coverage?: number;
}

export interface SearchOptions {
  /** Looks only among this server's tools, and finds none if it has none. */
  server?: string | undefined;
  /** Most results that are returned. */
  limit: number;
  /** Whether `coverage` is wanted, which takes additional time. */
  measuresCoverage?: boolean;
}

/** Tools that score less than this share of the best one are not counted as matches. */
const MIN_SHARE_OF_BEST = 0.2;

/** Below 1, so that rarity counts for less: how rare a word is depends on the catalog as much as on the word. */
const RARITY_EXPONENT = 0.7;

/**
 * Full-text search over tool definitions: BM25F, in memory, for names, needs in plain words and misspelt words. The same
 * tools give the same results whatever the order in which they came.
 *
 * The index is our own, because no library does as well. MiniSearch 7.2.0 with our words, clauses and weights, its boosts and
 * BM25 parameters tuned on the very sets that are measured, reaches nDCG@10 of 0.587 on MetaTool, 0.665 on its queries of two
 * needs and 0.883 on Seal-Tools, where this reaches 0.584, 0.672 and 0.928. A query among the 4,076 tools of Seal-Tools takes it
 * 17 times as long, since it adds up fields where BM25F weighs them together, counts rarity over all servers, and makes an
 * object of each match.
 */
export class ToolSearch {
  readonly #index = new InvertedIndex();
  readonly #documents = new DocumentTerms(this.#index);
  readonly #names = new NameLookup();
  readonly #tools: (SearchableTool | undefined)[] = [];
  readonly #batches = new Map<string, Batch>();
  /** Kept from search to search: making it would cost more than the search. */
  #scores = new ClauseScores(0);
  #size = 0;

  /** Tools in the index. */
  get size(): number {
    return this.#size;
  }

  /** Makes these the tools of a server, in place of those it had. Other servers' tools are not indexed again. */
  setServer(server: string, tools: readonly SearchableTool[]): void {
    this.removeServer(server);
    if (tools.length === 0) return;
    const batch = this.#documents.add(tools.map(fieldTexts));
    for (const [position, tool] of tools.entries()) {
      const slot = batch.slots[position] as number;
      this.#tools[slot] = tool;
      this.#names.add(slot, tool);
    }
    this.#size += tools.length;
    this.#batches.set(server, batch);
  }

  removeServer(server: string): void {
    const batch = this.#batches.get(server);
    if (batch === undefined) return;
    this.#batches.delete(server);
    this.#documents.remove(batch);
    this.#size -= batch.slots.length;
    for (const slot of batch.slots) {
      const tool = this.#tools[slot];
      if (tool !== undefined) this.#names.remove(slot, tool);
      this.#tools[slot] = undefined;
    }
  }

  /** The tools of a server, or of all, in no particular order. */
  *list(server?: string): Generator<SearchableTool> {
    const batches = server === undefined ? this.#batches.values() : [this.#batches.get(server)];
    for (const batch of batches) {
      for (const slot of batch?.slots ?? []) {
        const tool = this.#tools[slot];
        if (tool !== undefined) yield tool;
      }
    }
  }

  /** The tools that fit a query best. Those that go by just that name come first. Bounded in time for any text. */
  search(query: string, { server, limit, measuresCoverage = false }: SearchOptions): SearchHits {
    const inScope = server === undefined ? undefined : new Set(this.#batches.get(server)?.slots);
    const isMeant = (slot: number) => canBeMeant(this.#tools[slot] as SearchableTool, query);
    const { scores, hasUnknownWord, words, clauses } = this.#scoresOf(query, inScope, isMeant);
    const named = (hasUnknownWord ? this.#names.findNearest(query) : this.#names.find(query)).filter(
      (slot) => inScope?.has(slot) ?? true,
    );
    scores.drop((slot) => !named.includes(slot) && !isMeant(slot));
    const best = scores.best();
    for (const slot of named) scores.add(slot, best + 1);
    const { slots, total } = scores.top(limit, best * MIN_SHARE_OF_BEST, (a, b) => this.#comesBefore(a, b));
    if (total === 0) return this.#misspeltNames(query, server, limit);
    if (total > limit) includeEachNeed(slots, clauses, limit);
    const results = slots.flatMap((slot) => {
      const tool = this.#tools[slot];
      return tool === undefined ? [] : [{ tool, score: scores.of(slot) }];
    });
    const [first] = slots;
    const documents = {
      posting: (term: string) => this.#matches(term, inScope),
      documents: inScope?.size ?? this.size,
    };
    const fits = first === undefined || named.length > 0 || fitsQuery(words, slots, documents);
    return {
      results,
      total,
      ...(fits ? {} : { fitsPoorly: true }),
      ...(named.length > 0 && measuresCoverage ? { isName: true } : {}),
      ...(first !== undefined && measuresCoverage ? { coverage: coverageOf(words, first, documents) } : {}),
    };
  }

  #comesBefore(a: number, b: number): boolean {
    return (this.#tools[a]?.namespacedName ?? "") < (this.#tools[b]?.namespacedName ?? "");
  }

  #scoresOf(query: string, inScope: ReadonlySet<number> | undefined, isMeant: (slot: number) => boolean) {
    let hasUnknownWord = false;
    const { clauses, words } = parseQuery(query, {
      has: (term) => this.#index.posting(term) !== undefined,
      similarTo: (word) => {
        hasUnknownWord = true;
        return this.#index.similar.to(word);
      },
    });
    if (this.#scores.capacity < this.#index.slotCount) this.#scores = new ClauseScores(this.#index.slotCount);
    const scores = this.#scores;
    scores.clear();
    const counted = new Set<string>();
    const best: number[] = [];
    for (const { terms, hasSubject } of clauses) {
      for (const [term, weight] of terms) {
        const matches = this.#matches(term, inScope);
        if (matches !== undefined)
          scores.add(matches, weight * this.#rarity(matches, inScope), counted.has(term));
        counted.add(term);
      }
      const first = scores.endClause(isMeant);
      if (first !== undefined && hasSubject) best.push(first);
    }
    return { scores: scores.combined(), hasUnknownWord, words, clauses: best };
  }

  #matches(term: string, inScope: ReadonlySet<number> | undefined): Posting | undefined {
    const posting = this.#index.posting(term);
    return posting === undefined || inScope === undefined ? posting : restrict(posting, inScope);
  }

  #rarity({ slots }: Posting, inScope: ReadonlySet<number> | undefined): number {
    const documents = inScope?.size ?? this.size;
    return Math.log(1 + (documents - slots.length + 0.5) / (slots.length + 0.5)) ** RARITY_EXPONENT;
  }

  #misspeltNames(query: string, server: string | undefined, limit: number): SearchHits {
    const byName = new Map<string, SearchableTool[]>();
    for (const tool of this.list(server)) {
      const sameName = byName.get(tool.name);
      if (sameName === undefined) byName.set(tool.name, [tool]);
      else sameName.push(tool);
    }
    const names = similarNames(query, [...byName.keys()], limit);
    const hits = names.flatMap((name, rank) => {
      const tools = (byName.get(name) ?? []).sort((a, b) => (a.namespacedName < b.namespacedName ? -1 : 1));
      return tools.map((tool) => ({ tool, score: 1 / (rank + 1) }));
    });
    return { results: hits.slice(0, limit), total: hits.length };
  }
}

/** The needs of a query of which each has its place among the best: in a longer text most clauses are circumstances. */
const MAX_NEEDS = 3;

/** Has the tool that fits each need of a query best be among the best, in the place of the last of them. */
function includeEachNeed(slots: number[], clauses: readonly number[], limit: number): void {
  if (clauses.length < 2 || clauses.length > MAX_NEEDS) return;
  const missing = [...new Set(clauses)].filter((slot) => !slots.includes(slot));
  const kept = Math.max(1, limit - missing.length);
  slots.splice(kept, slots.length, ...missing.slice(0, limit - kept));
}

function restrict({ slots, impacts }: Posting, inScope: ReadonlySet<number>): Posting {
  const restricted = { slots: new Int32Array(inScope.size), impacts: new Float64Array(inScope.size) };
  let kept = 0;
  for (let index = 0; index < slots.length; index++) {
    const slot = slots[index] as number;
    if (!inScope.has(slot)) continue;
    restricted.slots[kept] = slot;
    restricted.impacts[kept++] = impacts[index] as number;
  }
  return { slots: restricted.slots.subarray(0, kept), impacts: restricted.impacts.subarray(0, kept) };
}

/** Scores of documents by slot, of which most have none. */
class Scores {
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
class ClauseScores {
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
