import type { ServerListing } from "../catalog/parse-tool.ts";
import type { Tool } from "../catalog/tool.ts";
import { ToolCatalog } from "../catalog/tool-catalog.ts";
import { buildServerModel } from "../catalog/tool-model.ts";
import { printCompactSignature, printToolSignature } from "../codegen/typescript/signature.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../codegen/typescript/typescript-printer.ts";
import { countSavings, type Reading } from "../scripts/docs/savings/count-savings.ts";
import { answerInspectTool, answerSearchTools } from "../server/mcp/tools/discovery.ts";
import { buildInstructions, chooseExamples } from "../server/mcp/tools/instructions.ts";
import { buildToolDefinitions } from "../server/mcp/tools/own-tools.ts";
import type { ToolReply } from "../server/mcp/tools/reply.ts";
import { serversOf } from "../tests/catalog/tool-of.ts";
import type { Figure } from "./measurement.ts";

/** Queries in the words of models. */
const QUERIES = [
  "list open issues of a repository",
  "create a pull request",
  "send a message to a channel",
  "search documents in google drive",
  "take a screenshot of a page",
  "run a query against a mongodb collection",
  "list kubernetes pods",
  "scrape a website",
  "deploy an app",
  "read a file",
];
const LIMIT = 5;

/** What a model reads about ptc before it writes its first program, and the cost of inspecting single tools. */
export async function measureReading(
  listings: readonly ServerListing[],
  countTokens: (text: string) => number,
): Promise<Figure[]> {
  const tools = Object.fromEntries(listings.map(({ name, tools }) => [name, tools as Partial<Tool>[]]));
  const catalog = new ToolCatalog(serversOf(tools));
  const tokensOf = ({ content }: ToolReply) => countTokens(content.map(({ text }) => text).join("\n"));
  const modules = catalog.servers.map(({ module }) => module);
  const upFront =
    countTokens(JSON.stringify(buildToolDefinitions(modules, [PRINTER]))) +
    countTokens(buildInstructions(modules, [PRINTER], chooseExamples(catalog)));
  const found = await Promise.all(
    QUERIES.map((query) =>
      answerSearchTools({ query, detail: "signature", limit: LIMIT }, catalog, [PRINTER]),
    ),
  );
  const inspected = (format: "schema" | "signature") =>
    Promise.all(
      catalog.names().map((tool_name) => answerInspectTool({ tool_name, format }, catalog, [PRINTER])),
    );
  const mean = (replies: readonly ToolReply[]) =>
    replies.reduce((sum, reply) => sum + tokensOf(reply), 0) / replies.length;
  const of = `of ${catalog.names().length} tools`;
  const figure = (name: string, value: number, atMost: number): Figure => ({
    name,
    value,
    unit: "tokens",
    bound: { atMost },
  });
  return [
    figure(
      `read before the first program, with one search for ${LIMIT} signatures`,
      upFront + mean(found),
      2_000,
    ),
    figure(`inspect_tool, mean ${of}`, mean(await inspected("schema")), 400),
    figure(`inspect_tool with format signature, mean ${of}`, mean(await inspected("signature")), 250),
  ];
}

/** The least that all examples together must save. */
const MIN_AGAINST_ALL = 8;
const MIN_AGAINST_SEARCH = 2;

/** What a model reads to do the same as the examples, with and without ptc, in tokens and turns. */
export async function measureExamples(): Promise<Figure[]> {
  const savings = await countSavings();
  const unseen = savings.flatMap(({ unseen }) => unseen);
  if (unseen.length > 0) throw new Error(`searches of the examples do not show ${unseen.join(", ")}`);
  const [everything, direct, searched, ptc] = (["everything", "direct", "searched", "ptc"] as const).map(
    (way) => sum(savings.map((each) => each[way])),
  ) as [Reading, Reading, Reading, Reading];
  return [
    share("all examples, six servers up front", everything, ptc, MIN_AGAINST_ALL),
    share("all examples, the servers of each up front", direct, ptc),
    share("all examples, by tool search", searched, ptc, MIN_AGAINST_SEARCH),
    ...savings.flatMap(({ program, everything, direct, searched, ptc }) => [
      share(`${program}, six servers up front`, everything, ptc),
      share(`${program}, its servers up front`, direct, ptc),
      share(`${program}, by tool search`, searched, ptc),
    ]),
  ];
}

function share(name: string, without: Reading, ptc: Reading, atLeast?: number): Figure {
  return {
    name: `read for ${name}`,
    value: without.tokens / ptc.tokens,
    unit: "times",
    against: "ptc",
    ...(atLeast === undefined ? {} : { bound: { atLeast } }),
    detail: `${without.tokens} to ${ptc.tokens} tokens (o200k), ${without.turns} to ${ptc.turns} turns`,
  };
}

function sum(readings: readonly Reading[]): Reading {
  const add = (what: keyof Reading) => readings.reduce((total, each) => total + each[what], 0);
  return { tokens: add("tokens"), turns: add("turns") };
}

/** What a model reads about every tool of some servers, in tokens. */
export async function measureTokens(
  listings: readonly ServerListing[],
  countTokens: (text: string) => number,
): Promise<Figure[]> {
  let jsonTokens = 0;
  let described = 0;
  let compact = 0;
  for (const listing of listings) {
    const { server } = buildServerModel(listing, "server");
    for (const tool of server.tools) {
      const { name, description, inputSchema, outputSchema } = tool.definition;
      jsonTokens += countTokens(JSON.stringify({ name, description, inputSchema, outputSchema }));
      described += countTokens(`${await printToolSignature(tool)}\n`);
      compact += countTokens(`${await printCompactSignature(tool)}\n`);
    }
  }
  const share = (name: string, tokens: number, atMost: number): Figure => ({
    name,
    value: tokens / jsonTokens,
    unit: "times",
    against: "the JSON definitions, in tokens",
    bound: { atMost },
    detail: `${tokens} of ${jsonTokens} tokens (o200k)`,
  });
  return [
    share("signatures, every description kept", described, 0.72),
    share("signatures, compact", compact, 0.2),
  ];
}
