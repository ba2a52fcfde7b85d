import { Conversation } from "../../broker/flow/conversation.ts";
import { FoldedText } from "../../broker/flow/folded-text.ts";
import { OriginIndex, Search } from "../../broker/flow/origin-index.ts";
import { RunFlow } from "../../broker/flow/run-flow.ts";
import type { ServerListing } from "../../catalog/parse-tool.ts";
import { type Figure, percentile } from "../measurement.ts";

const READ_CHARS = 1_000_000;
const CALLS = 2_000;
const WARM_UP = 500;

/**
 * How long it takes to find the origins of a call's values, after 1 MB of labelled results, and how often unrelated texts have pieces
 * in common: texts from the tools of one real server are looked up in the definitions of the others.
 */
export async function measureOrigins(lists: readonly ServerListing[]): Promise<Figure[]> {
  const texts = lists.map(({ tools }) => textsIn(tools));
  const conversation = new Conversation();
  const flow = new RunFlow({
    conversation,
    runId: "1",
    isSticky: true,
    program: ['send({ to: "ada@example.com" })'],
  });
  let chars = 0;
  for (const [seq, text] of texts.flat().entries()) {
    if (chars >= READ_CHARS) break;
    chars += text.length;
    flow.answered({ tool: "t", server: "s", seq }, ["untrusted"], undefined, [text]);
  }
  const indexMs = await timeOf(() => conversation.texts());
  const phrases = texts.at(-1) ?? [];
  const calls = Array.from({ length: CALLS + WARM_UP }, (_, index) => ({
    to: index % 2 === 0 ? "ada@example.com" : `user-${index}@partner.test`,
    amount: index,
    subject: `Report ${index}`,
    body: (phrases[index % phrases.length] ?? "").slice(0, 400),
    tags: ["a", `tag-${index}`],
  }));
  const times: number[] = [];
  for (const [seq, args] of calls.entries()) {
    const ms = await timeOf(() => flow.follow({ tool: "t", seq, arguments: args }));
    if (seq >= WARM_UP) times.push(ms);
  }
  return [
    {
      name: "origins of a call's values after 1 MB of results, p50",
      value: percentile(times, 0.5),
      unit: "ms",
      bound: { atMost: 0.3 },
      detail: `p95 ${percentile(times, 0.95).toFixed(3)} ms; entering that 1 MB takes ${indexMs.toFixed(0)} ms, once`,
    },
    {
      name: "the same, p99",
      value: percentile(times, 0.99),
      unit: "ms",
      bound: { atMost: 5 },
    },
    ...falseMatches(lists),
  ];
}

/** The shares of unrelated texts that have enough in common to count as a piece. */
function falseMatches(lists: readonly ServerListing[]): Figure[] {
  const servers = lists.map(({ tools }) => ({
    texts: textsIn(tools),
    values: valuesIn(tools),
    descriptions: descriptionsIn(tools),
  }));
  const indexes = servers.map(({ texts }) => {
    const index = new OriginIndex(100_000_000, true);
    for (const text of texts) index.add(text, 0);
    return index;
  });
  const longest = (index: OriginIndex, text: FoldedText) => {
    let most = 0;
    const search = new Search(index, text, ({ from, to }) => {
      most = Math.max(most, to - from);
    });
    while (!search.isOver) search.advance(text.length);
    return most;
  };
  const counts = {
    run8: 0,
    run16: 0,
    run24: 0,
    descriptions: 0,
    value8: 0,
    values8: 0,
    value12: 0,
    values12: 0,
  };
  for (const [a, server] of servers.entries())
    for (const [b, index] of indexes.entries()) {
      if (a === b || (a + b) % 3 !== 0) continue;
      for (const description of server.descriptions.slice(0, 40)) {
        const most = longest(index, FoldedText.of(description));
        counts.descriptions++;
        if (most >= 8) counts.run8++;
        if (most >= 16) counts.run16++;
        if (most >= 24) counts.run24++;
      }
      for (const value of server.values) {
        const folded = FoldedText.of(value);
        const size = folded.length - 1;
        if (size < 4 || size > 60) continue;
        const isFound = longest(index, folded) === size;
        counts[size < 12 ? "values8" : "values12"]++;
        if (isFound) counts[size < 12 ? "value8" : "value12"]++;
      }
    }
  const share = (name: string, found: number, of: number, atMost?: number): Figure => ({
    ...{ name, value: (100 * found) / Math.max(1, of), unit: "%" },
    ...(atMost === undefined ? {} : { bound: { atMost } }),
    detail: `${found} of ${of}`,
  });
  return [
    share("descriptions with 8 characters of another server's", counts.run8, counts.descriptions),
    share("with 16", counts.run16, counts.descriptions),
    share("with 24, from which on a run of words is a piece", counts.run24, counts.descriptions, 2),
    share("values of 4 to 11 characters that another server has", counts.value8, counts.values8),
    share("of 12 and more, from which on a value is a piece", counts.value12, counts.values12, 2),
  ];
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

function descriptionsIn(tools: readonly unknown[]): string[] {
  return tools
    .map((tool) => (tool as { description?: unknown }).description)
    .filter((text): text is string => typeof text === "string" && text.length >= 40);
}

/** Values that schemas name in enumerations, examples and defaults. */
function valuesIn(value: unknown): string[] {
  const found = new Set<string>();
  const visit = (each: unknown): void => {
    if (typeof each !== "object" || each === null) return;
    for (const [name, member] of Object.entries(each)) {
      if (["enum", "examples", "default", "const"].includes(name))
        for (const text of [member].flat()) if (typeof text === "string") found.add(text);
      visit(member);
    }
  };
  visit(value);
  return [...found];
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
