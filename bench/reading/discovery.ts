import type { ServerListing } from "../../catalog/parse-tool.ts";
import type { Tool } from "../../catalog/tool.ts";
import { ToolCatalog } from "../../catalog/tool-catalog.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../codegen/typescript/typescript-printer.ts";
import { answerInspectTool, answerSearchTools } from "../../server/mcp/tools/discovery.ts";
import { buildInstructions, chooseExamples } from "../../server/mcp/tools/instructions.ts";
import { buildToolDefinitions } from "../../server/mcp/tools/own-tools.ts";
import type { ToolReply } from "../../server/mcp/tools/reply.ts";
import { serversOf } from "../../tests/catalog/tool-of.ts";
import type { Figure } from "../figure.ts";

/** What models look for, in their words. */
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

/** What a model reads of ptc before it writes its first program, and what looking at single tools costs. */
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
