import { DocumentTerms } from "./document-terms.ts";
import { type Batch, InvertedIndex } from "./inverted-index.ts";
import { NameLookup } from "./name-lookup.ts";
import type { Posting } from "./posting-lists.ts";
import { coverageOf, fitsQuery } from "./query-fit.ts";
import { parseQuery } from "./query-terms.ts";
import { ClauseScores } from "./scores.ts";
import { canBeMeant, fieldTexts, type SearchableTool } from "./searchable-text.ts";
import { similarNames } from "./similar-names.ts";

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
  /** Whether `coverage` is wanted, which takes time of its own. */
  measuresCoverage?: boolean;
}

/** Tools that score less than this share of the best one are not counted as matches. */
const MIN_SHARE_OF_BEST = 0.2;

/** Below 1, so that rarity counts for less: how rare a word is depends on the catalog as much as on the word. */
const RARITY_EXPONENT = 0.7;

/**
 * Full-text search over tool definitions: BM25F, in memory, for names, needs in plain words and misspelt words. The same
 * tools give the same results whatever the order in which they came.
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
