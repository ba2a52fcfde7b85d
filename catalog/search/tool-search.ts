import { type Batch, DocumentTerms, InvertedIndex, type Posting } from "./inverted-index.ts";
import { coverageOf, fitsQuery, parseQuery } from "./query.ts";
import { asksToRead, weightForReading } from "./reading.ts";
import { canBeMeant, fieldTexts, type SearchableTool } from "./searchable-text.ts";
import { NameLookup, similarNames } from "./similar-names.ts";

export interface SearchHit {
  tool: SearchableTool;
  /** Larger is better. Comparable within one search only. */
  score: number;
}

export interface SearchHits {
  /** Best first. Equal scores are ordered by namespaced name. */
  results: SearchHit[];
  /** The number of matching tools. More than `results.length` means that some are not in `results`. */
  total: number;
  /** Set if even the best result hardly matches the query. */
  fitsPoorly?: true;
  /** Set if the query is the name of the first result, if the search measures coverage. */
  isName?: true;
  /** How much of the query the first result covers, from 0 to 1, if the search measures coverage. */
  coverage?: number;
}

export interface SearchOptions {
  /** Searches only this server's tools. */
  server?: string | undefined;
  /** The most results to return. */
  limit: number;
  /** Whether to measure coverage, which takes additional time. */
  measuresCoverage?: boolean;
}

/** Tools that score less than this share of the best score do not count as matches. */
const MIN_SHARE_OF_BEST = 0.2;

/** Below 1, so that rarity counts for less, because the rarity of a word depends on the catalog as much as on the word. */
const RARITY_EXPONENT = 0.7;

/**
 * Full-text search over tool definitions: BM25F, in memory, for names, needs in plain words, and misspelt words. The same
 * tools give the same results in whatever order they were added.
 *
 * ptc has its own index because no library does as well. MiniSearch 7.2.0 with the words, clauses and weights of this index, and
 * with boosts and BM25 parameters tuned on the measured sets, reaches an nDCG@10 of 0.587 on MetaTool, 0.665 on its queries with
 * two needs and 0.883 on Seal-Tools. This index reaches 0.584, 0.672 and 0.928. MiniSearch takes 17 times as long for a query
 * among the 4,076 tools of Seal-Tools, because it adds up fields where BM25F weighs them together, counts rarity over all
 * servers, and allocates an object for each match.
 */
export class ToolSearch {
  readonly #index = new InvertedIndex();
  readonly #documents = new DocumentTerms(this.#index);
  readonly #names = new NameLookup();
  readonly #tools: (SearchableTool | undefined)[] = [];
  readonly #batches = new Map<string, Batch>();
  /** Reused between searches, because allocating it would cost more than a search. */
  #scores = new ClauseScores(0);
  #size = 0;

  /** The number of tools in the index. */
  get size(): number {
    return this.#size;
  }

  /** Replaces the tools of a server. Does not index other servers' tools again. */
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

  /** The tools of one server, or of all servers, in no particular order. */
  *list(server?: string): Generator<SearchableTool> {
    const batches = server === undefined ? this.#batches.values() : [this.#batches.get(server)];
    for (const batch of batches) {
      for (const slot of batch?.slots ?? []) {
        const tool = this.#tools[slot];
        if (tool !== undefined) yield tool;
      }
    }
  }

  /** The tools that fit a query best. Tools with that name come first. The time is bounded for any text. */
  search(query: string, { server, limit, measuresCoverage = false }: SearchOptions): SearchHits {
    const inScope = server === undefined ? undefined : new Set(this.#batches.get(server)?.slots);
    const isMeant = (slot: number) => canBeMeant(this.#tools[slot] as SearchableTool, query);
    const { scores, hasUnknownWord, words, clauses } = this.#scoresOf(query, inScope, isMeant);
    const named = (hasUnknownWord ? this.#names.findNearest(query) : this.#names.find(query)).filter(
      (slot) => inScope?.has(slot) ?? true,
    );
    scores.drop((slot) => !named.includes(slot) && !isMeant(slot));
    if (asksToRead(query)) scores.weigh((slot) => weightForReading(this.#tools[slot] as SearchableTool));
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

/** The most needs of a query that each get a place among the best. In a longer text, most clauses are circumstances. */
const MAX_NEEDS = 3;

/** Puts the best tool for each need of a query among the results, in place of the last ones. */
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

/** Scores of documents by slot. Most documents have none. */
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

  /** Removes the scores of some slots. */
  drop(isDropped: (slot: number) => boolean): void {
    this.#scored = this.#scored.filter((slot) => {
      if (!isDropped(slot)) return true;
      this.#scores[slot] = 0;
      return false;
    });
  }

  /** Multiplies each score by a weight above 0. */
  weigh(weightOf: (slot: number) => number): void {
    for (const slot of this.#scored) this.#scores[slot] = this.of(slot) * weightOf(slot);
  }

  /** The slots with a score, in no particular order. */
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

  /** The slots with the largest scores, best first and at most `limit`, and the number of slots that score at least `least`. */
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

/** The weight that a document's best clause adds to the score of the whole query. */
const CLAUSE_WEIGHT = 0.5;

/** Scores of a query's clauses. Each term of the query counts once, and the clause that fits a document best counts more. */
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

  /** Adds a term of the current clause. @param isRepeated whether an earlier clause had it too. */
  add({ slots, impacts }: Posting, weight: number, isRepeated: boolean): void {
    const scores = isRepeated ? this.#ofKnownTerms : this.#ofNewTerms;
    for (let index = 0; index < slots.length; index++) {
      scores.add(slots[index] as number, (impacts[index] as number) * weight);
    }
  }

  /** Ends a clause. Returns the eligible slot that fits it best. */
  endClause(isEligible: (slot: number) => boolean): number | undefined {
    this.#clauses++;
    let best: number | undefined;
    let most = 0;
    for (const slot of new Set([...this.#ofNewTerms.slots(), ...this.#ofKnownTerms.slots()])) {
      const score = this.#ofNewTerms.of(slot) + this.#ofKnownTerms.of(slot);
      if (score > most && isEligible(slot)) [best, most] = [slot, score];
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
