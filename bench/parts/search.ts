import { join } from "node:path";
import type { ServerListing } from "../../catalog/parse-tool.ts";
import type { SearchableTool } from "../../catalog/search/searchable-text.ts";
import { searchTools } from "../../catalog/search/tool-index.ts";
import { buildIndex, meanNdcg, ndcg, type SearchSet } from "../../tests/catalog/search/search-sets.ts";
import { MeaningStage } from "../../tools/search/compose-ranking.ts";
import { EndpointHealth } from "../../tools/search/model-endpoint.ts";
import { ToolVectors, VectorFile } from "../../tools/search/tool-vectors.ts";
import { type Figure, percentile } from "../measurement.ts";

const TOOLS = 10_000;
const ROUNDS = 5;

/** Quality on every set, and speed with 10,000 tools derived from real ones, or from those of the sets if there are none. */
export function measureSearch(sets: readonly SearchSet[], listings: readonly ServerListing[] = []): Figure[] {
  const quality = sets.map(
    (set): Figure => ({
      name: `search, ${set.name}`,
      value: meanNdcg(set),
      unit: "nDCG@10",
      bound: { atLeast: set.target },
    }),
  );
  const tools = listings.length > 0 ? listings.flatMap(listedTools) : sets.flatMap((set) => set.tools);
  const queries = sets.flatMap((set) => set.queries.map(({ query }) => query));
  const alike = grow(tools, TOOLS, (text) => text);
  const unlike = grow(tools, TOOLS, inWordsOfItsOwn);
  return [...quality, ...measureSpeed("", alike, queries), ...measureSpeed(", all unlike", unlike, queries)];
}

function measureSpeed(how: string, tools: readonly SearchableTool[], queries: readonly string[]): Figure[] {
  const index = () => {
    const search = buildIndex(tools);
    search.search("first of all", { limit: 10 });
    return search;
  };
  const indexMs = bestProcessorTime(index);
  const search = index();
  const queryMs = queries.map((query) => bestTime(() => search.search(query, { limit: 10 })));
  const changed = tools.filter(({ server }) => server === tools[0]?.server);
  const afterChangeMs = queries
    .filter((_, position) => position % 20 === 0)
    .map((query) => {
      const times = Array.from({ length: ROUNDS }, () => {
        search.setServer(changed[0]?.server ?? "", changed);
        return timeOf(() => search.search(query, { limit: 10 }));
      });
      return Math.min(...times);
    });
  const bound = { atMost: 2 };
  return [
    {
      name: `index ${tools.length} tools and search once${how}`,
      value: indexMs,
      unit: "ms of processor time",
      bound: { atMost: 600 },
    },
    { name: `query, p95${how}`, value: percentile(queryMs, 0.95), unit: "ms", bound },
    { name: `query after a change, p95${how}`, value: percentile(afterChangeMs, 0.95), unit: "ms", bound },
  ];
}

function listedTools({ name: server, tools }: ServerListing): SearchableTool[] {
  return (tools as SearchableTool[]).map(({ name, title, description, inputSchema }) => ({
    server,
    name,
    namespacedName: `mcp__${server}__${name}`,
    title,
    description,
    inputSchema,
    definitionDigest: `${server} ${name}`,
  }));
}

/** Repeats the given tools until there are `count`, with the copies on separate servers. */
function grow(
  tools: readonly SearchableTool[],
  count: number,
  reword: (text: string, copy: number) => string,
): SearchableTool[] {
  return Array.from({ length: count }, (_, position) => {
    const copy = Math.floor(position / tools.length);
    const tool = tools[position % tools.length] as SearchableTool;
    const { title, description } = tool;
    const name = reword(tool.name, copy);
    return {
      server: `${tool.server} ${copy}`,
      name,
      namespacedName: `mcp__${tool.server}_${copy}__${name}`,
      title: title === undefined ? title : reword(title, copy),
      description: description === undefined ? description : reword(description, copy),
      inputSchema: rewordedSchema(tool.inputSchema, (text) => reword(text, copy)),
      definitionDigest: `${tool.definitionDigest} ${copy}`,
    };
  });
}

function rewordedSchema(schema: unknown, reword: (text: string) => string): unknown {
  if (Array.isArray(schema)) return schema.map((each) => rewordedSchema(each, reword));
  if (typeof schema !== "object" || schema === null) return schema;
  const members = Object.entries(schema).map(([key, value]) => {
    if (key === "description" && typeof value === "string") return [key, reword(value)];
    const below = rewordedSchema(value, reword);
    if (key !== "properties" || typeof below !== "object" || below === null) return [key, below];
    return [key, Object.fromEntries(Object.entries(below).map(([name, each]) => [reword(name), each]))];
  });
  return Object.fromEntries(members);
}

/** Replaces three in ten words of a copy with words that no other copy has. */
function inWordsOfItsOwn(text: string, copy: number): string {
  const syllable = ["", "ba", "de", "ki", "lo", "mu", "ra", "ne", "vi", "so"][copy % 10] ?? "";
  return text.replace(/[A-Za-z]{3,}/g, (word) => (lot(word, copy) < 3 ? word + syllable : word));
}

/** A number from 0 to 9 that depends only on the word and the copy. */
function lot(word: string, copy: number): number {
  let sum = copy * 7;
  for (const character of word.toLowerCase()) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return sum % 10;
}

/** The smallest processor time of several rounds, in milliseconds, which excludes other work on the machine. */
function bestProcessorTime(work: () => unknown): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

/** The shortest of a few times, in milliseconds. */
function bestTime(work: () => unknown): number {
  return Math.min(...Array.from({ length: ROUNDS }, () => timeOf(work)));
}

function timeOf(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}

/** Longer than any part of a measurement takes. */
const PATIENCE_MS = 30 * 60_000;

/**
 * Quality of search with and without an embeddings endpoint, and how long a search takes with it.
 *
 * @param step 1 asks every query, 10 every tenth.
 */
export async function measureMeaning(
  sets: readonly SearchSet[],
  origin: { url: string; model: string },
  folder: string,
  step: number,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { name, tools, queries: all } of sets) {
    const queries = all.filter((_, position) => position % step === 0);
    const failures: string[] = [];
    const health = new EndpointHealth((reason) => failures.push(reason));
    const endpoint = { ...origin, key: undefined };
    const file = new VectorFile(join(folder, name), "vectors.bin", origin);
    const vectors = new ToolVectors({ endpoint, file, health, onWarning: (why) => failures.push(why) });
    const options = { vectors, health, name: origin.model, timeoutMs: PATIENCE_MS, waits: true };
    const stage = new MeaningStage(options);
    const search = buildIndex(tools);
    vectors.prepare(tools);
    await vectors.prepared(PATIENCE_MS);
    let without = 0;
    let withIt = 0;
    const times: number[] = [];
    for (const { query, gold } of queries) {
      without += ndcg(search.search(query, { limit: 10 }), gold);
      const startedAt = performance.now();
      withIt += ndcg(await searchTools(search, query, { limit: 10 }, stage), gold);
      times.push(performance.now() - startedAt);
    }
    if (failures.length > 0) throw new Error(`${origin.url} ${failures.join("; ")}`);
    figures.push({
      name: `search by words and meaning, ${name}`,
      value: withIt / queries.length,
      unit: "nDCG@10",
      bound: { atLeast: without / queries.length },
      detail: `by words alone ${(without / queries.length).toFixed(4)}; ${queries.length} queries, half of them within ${percentile(times, 0.5).toFixed(0)} ms`,
    });
  }
  return figures;
}
