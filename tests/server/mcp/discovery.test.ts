import { describe, expect, it } from "vitest";
import { PRINTER } from "../../../host/languages.ts";
import { answerInspectTool } from "../../../server/mcp/tools/inspect-tool.ts";
import { buildInstructions } from "../../../server/mcp/tools/instructions.ts";
import { answerListCallableTools } from "../../../server/mcp/tools/list-callable-tools.ts";
import { answerSearchTools } from "../../../server/mcp/tools/search-answer.ts";
import { buildToolDefinitions } from "../../../server/mcp/tools/tool-definitions.ts";
import { serversOf } from "../../catalog/tool-of.ts";
import { viewOf } from "./served.ts";

const VIEW = viewOf(
  serversOf({
    "financial-data": [
      {
        name: "query_financials",
        description: "Query financial statements for a given ticker. Much more is said.",
        inputSchema: {
          type: "object",
          properties: { ticker: { type: "string" } },
          required: ["ticker"],
        },
      },
      { name: "stock_quote", description: "Quote.", outputSchema: { type: "object" } },
    ],
    internal: [{ name: "get_resource", description: "Gets a statement." }],
  }),
  new Map([["slow", "server 'slow' did not start"]]),
);

const text = (reply: { content: { text: string }[] }) => reply.content[0]?.text ?? "";
const search = async (args: object) =>
  answerSearchTools({ query: "statement", detail: "name", limit: 10, ...args }, VIEW, PRINTER);

describe("list_callable_tools", () => {
  it("is a JSON array of names, sorted", () => {
    expect(JSON.parse(text(answerListCallableTools({}, VIEW)))).toEqual([
      "mcp__financial_data__query_financials",
      "mcp__financial_data__stock_quote",
      "mcp__internal__get_resource",
    ]);
  });

  it.each(["financial-data", "financial_data"])("keeps to the server %s", (server) => {
    expect(JSON.parse(text(answerListCallableTools({ server }, VIEW)))).toHaveLength(2);
  });

  it("names the nearest server for one that is not there, and why one is not listed", () => {
    expect(answerListCallableTools({ server: "finacial-data" }, VIEW)).toMatchObject({ isError: true });
    expect(text(answerListCallableTools({ server: "finacial_data" }, VIEW))).toBe(
      "there is no server 'finacial_data'; did you mean financial_data?",
    );
    expect(text(answerListCallableTools({ server: "slow" }, VIEW))).toBe(
      "server 'slow': server 'slow' did not start",
    );
  });
});

describe("inspect_tool", () => {
  it("shows name, description, signature and schemas, and says where there is no output schema", async () => {
    const reply = await answerInspectTool(
      { tool_name: "mcp__financial_data__query_financials" },
      VIEW,
      PRINTER,
    );
    expect(JSON.parse(text(reply))).toEqual({
      name: "mcp__financial_data__query_financials",
      description: "Query financial statements for a given ticker. Much more is said.",
      import: 'import * as financial_data from "./servers/financial_data/index.js";',
      signature: expect.stringMatching(/queryFinancials\(\{\s*ticker: ?string/),
      inputSchema: { type: "object", properties: { ticker: { type: "string" } }, required: ["ticker"] },
      outputSchema: null,
      note: "No output schema defined by the upstream server. Inspect the return value in your script.",
    });
    const other = JSON.parse(
      text(await answerInspectTool({ tool_name: "mcp__financial_data__stock_quote" }, VIEW, PRINTER)),
    );
    expect(other).toMatchObject({ outputSchema: { type: "object" } });
    expect(other).not.toHaveProperty("note");
  });

  it.each([
    "query_financials",
    "queryFinancials",
    "financial_data.queryFinancials",
    "financial-data.query_financials",
    "mcp__financial-data__query_financials",
    "mcp__financial_data__queryFinancials",
  ])("knows a tool as %s", async (tool_name) => {
    expect(JSON.parse(text(await answerInspectTool({ tool_name }, VIEW, PRINTER))).name).toBe(
      "mcp__financial_data__query_financials",
    );
  });

  it("names the nearest tools for one that is not there", async () => {
    const reply = await answerInspectTool(
      { tool_name: "mcp__financial_data__query_financial" },
      VIEW,
      PRINTER,
    );
    expect(reply.isError).toBe(true);
    expect(text(reply)).toMatch(
      /^there is no tool 'mcp__financial_data__query_financial'; did you mean mcp__financial_data__query_financials/,
    );
  });
});

describe("search_tools", () => {
  it("says COMPLETE when it shows all that match", async () => {
    expect(text(await search({})).split("\n")).toEqual([
      "COMPLETE: all 2 matches",
      "mcp__financial_data__query_financials",
      "mcp__internal__get_resource",
      "server 'slow' is not searched: server 'slow' did not start",
    ]);
  });

  it("says PARTIAL when there is more, and how to narrow", async () => {
    expect(text(await search({ limit: 1 }))).toMatch(
      /^PARTIAL: the best 1 of 2 matches; narrow with more specific words, or raise limit\nmcp__financial_data__query_financials\n/,
    );
  });

  it("shows as much of each tool as was asked for", async () => {
    const server = "financial-data";
    expect(text(await search({ server, detail: "description" }))).toContain(
      "mcp__financial_data__query_financials: Query financial statements for a given ticker.",
    );
    const signature = text(await search({ server, detail: "signature" }));
    expect(signature).toMatch(/\n {2}financial_data\.queryFinancials\(\{ticker: ?string\}\)/);
  });

  it("says what is there when nothing matches, and what is not searched", async () => {
    expect(text(await search({ query: "zebra" }))).toBe(
      "COMPLETE: nothing matches; try other words. servers are financial_data, internal\nserver 'slow' is not searched: server 'slow' did not start",
    );
    expect(await search({ server: "nowhere" })).toMatchObject({ isError: true });
  });
});

describe("a model", () => {
  it("reads tools in the language that the printer prints", async () => {
    const printer = {
      guide: { ...PRINTER.guide, signatures: "Lisp", example: "(go)" },
      signature: async ({ name }: { name: string }, form: string) => `${form} ${name.toUpperCase()}`,
      importLine: (module: string) => `TAKE ${module}`,
    };
    expect(buildInstructions([], printer.guide)).toContain("for example:\n\n(go)\n\nFunctions are");
    expect(JSON.stringify(buildToolDefinitions([], printer.guide))).toContain("One tool's Lisp signature");
    const found = await answerSearchTools({ query: "ticker", detail: "signature", limit: 10 }, VIEW, printer);
    expect(text(found)).toContain("financial_data.compact QUERY_FINANCIALS");
    const tool_name = "mcp__financial_data__query_financials";
    expect(JSON.parse(text(await answerInspectTool({ tool_name }, VIEW, printer)))).toMatchObject({
      signature: "full QUERY_FINANCIALS",
      import: "TAKE financial_data",
    });
  });
});
