import { describe, expect, it } from "vitest";
import type { ToolPrinter } from "../../../codegen/language-printer.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../../codegen/typescript/typescript-printer.ts";
import {
  answerInspectTool,
  answerListCallableTools,
  answerSearchTools,
  type ToldReasons,
} from "../../../server/mcp/tools/discovery.ts";
import { buildInstructions } from "../../../server/mcp/tools/instructions.ts";
import { buildToolDefinitions } from "../../../server/mcp/tools/own-tools.ts";
import { serversOf } from "../../catalog/tool-of.ts";
import { viewOf } from "./served.ts";

const VIEW = viewOf(
  serversOf({
    "financial-data": [
      {
        name: "query_financials",
        description: "Query financial statements for a given ticker. Much more is said.",
        inputSchema: { type: "object", properties: { ticker: { type: "string" } }, required: ["ticker"] },
      },
      { name: "stock_quote", description: "Quote.", outputSchema: { type: "object" } },
    ],
    internal: [{ name: "get_resource", description: "Gets a statement." }],
  }),
  new Map([["slow", "server 'slow' did not start"]]),
);

const text = (reply: { content: { text: string }[] }) => reply.content[0]?.text ?? "";
const search = async (args: object, told?: ToldReasons) =>
  answerSearchTools({ query: "statement", detail: "name", limit: 10, ...args }, VIEW, [PRINTER], told);
const inspect = async (
  tool_name: string,
  format: "schema" | "signature" = "schema",
  printer: ToolPrinter = PRINTER,
) => answerInspectTool({ tool_name, format }, VIEW, [printer]);

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

  it("has 500 names at most; of more, it says how many each server has, and has those of one", () => {
    const tools = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `t${i}` }));
    const view = viewOf(serversOf({ "many-tools": tools(499), few: tools(1) }));
    expect(JSON.parse(text(answerListCallableTools({}, view)))).toHaveLength(500);
    const more = viewOf(serversOf({ "many-tools": tools(499), few: tools(2) }));
    expect(text(answerListCallableTools({}, more))).toBe(
      "501 tools are too many for one list. Name a `server` for its tools, or use search_tools. Tools by server: many_tools 499, few 2",
    );
    expect(JSON.parse(text(answerListCallableTools({ server: "many-tools" }, more)))).toHaveLength(499);
  });

  it("names the nearest server for one that is not there, and why one is not listed", () => {
    expect(answerListCallableTools({ server: "finacial-data" }, VIEW)).toMatchObject({ isError: true });
    expect(text(answerListCallableTools({ server: "finacial_data" }, VIEW))).toBe(
      "there is no server 'finacial_data'; did you mean financial_data?",
    );
    expect(text(answerListCallableTools({ server: "slow" }, VIEW))).toBe(
      "there is no server 'slow' yet: server 'slow' did not start",
    );
  });
});

describe("inspect_tool", () => {
  it("is what the server lists, once, and says where there is no output schema", async () => {
    expect(JSON.parse(text(await inspect("mcp__financial_data__query_financials")))).toEqual({
      name: "mcp__financial_data__query_financials",
      description: "Query financial statements for a given ticker. Much more is said.",
      inputSchema: { type: "object", properties: { ticker: { type: "string" } }, required: ["ticker"] },
      outputSchema: null,
      note: "No output schema defined by the upstream server. Inspect the return value in your script.",
    });
    const other = JSON.parse(text(await inspect("mcp__financial_data__stock_quote")));
    expect(other).toMatchObject({ outputSchema: { type: "object" } });
    expect(other).not.toHaveProperty("note");
  });

  it("is the signature and nothing else, with every description, where that is asked for", async () => {
    const signature = text(await inspect("mcp__financial_data__query_financials", "signature"));
    expect(signature).toMatch(/queryFinancials\(\{\s*ticker: ?string/);
    expect(signature).toContain("Much more is said.");
    expect(signature).not.toContain("inputSchema");
  });

  it.each([
    "query_financials",
    "queryFinancials",
    "financial_data.queryFinancials",
    "financial-data.query_financials",
    "mcp__financial-data__query_financials",
    "mcp__financial_data__queryFinancials",
  ])("knows a tool as %s", async (tool_name) => {
    expect(JSON.parse(text(await inspect(tool_name))).name).toBe("mcp__financial_data__query_financials");
  });

  it("names the nearest tools for one that is not there", async () => {
    const reply = await inspect("mcp__financial_data__query_financial");
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

  it("says that nothing fits, which servers there are, and what is nearest", async () => {
    expect(
      text(await search({ query: "unheard of statement", server: "financial-data" })).split("\n"),
    ).toEqual([
      "NOTHING FITS WELL in server 'financial_data': perhaps no tool does this; servers are financial_data, internal. The nearest:",
      "mcp__financial_data__query_financials",
    ]);
    expect(text(await search({ query: "unheard of statement" }))).toMatch(
      /^NOTHING FITS WELL: perhaps no tool does this; /,
    );
  });

  it("says once why a server is not searched", async () => {
    const told: ToldReasons = new Map();
    const last = async () =>
      text(await search({}, told))
        .split("\n")
        .at(-1);
    expect(await last()).toBe("server 'slow' is not searched: server 'slow' did not start");
    expect(await last()).toBe("not searched either, as said before: slow");
    told.set("slow", "another reason");
    expect(await last()).toBe("server 'slow' is not searched: server 'slow' did not start");
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
    const printer: ToolPrinter = {
      language: "typescript",
      functionName: ({ name }) => name,
      guide: { ...PRINTER.guide, signatures: "Lisp", example: () => "(go)" },
      signature: async ({ name }: { name: string }, form: string) => `${form} ${name.toUpperCase()}`,
      importLine: (module: string) => `TAKE ${module}`,
    };
    expect(buildInstructions([], [printer])).toContain("for example:\n\n(go)\n\nFunctions are");
    expect(JSON.stringify(buildToolDefinitions([], [printer]))).toContain("its Lisp signature");
    const found = await answerSearchTools({ query: "ticker", detail: "signature", limit: 10 }, VIEW, [
      printer,
    ]);
    expect(text(found)).toContain("financial_data.compact QUERY_FINANCIALS");
    const tool_name = "mcp__financial_data__query_financials";
    expect(text(await inspect(tool_name, "signature", printer))).toBe("full QUERY_FINANCIALS");
  });
});
