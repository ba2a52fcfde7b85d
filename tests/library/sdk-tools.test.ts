import { tool as langChainTool } from "@langchain/core/tools";
import { tool as agentsTool } from "@openai/agents";
import { tool as aiTool, jsonSchema } from "ai";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { PtcError, type PtcOptions } from "../../library/ptc.ts";
import { openPtc, useNoWalls } from "./open.ts";

useNoWalls();

type Tools = NonNullable<PtcOptions["tools"]>;

const input = z.object({ id: z.string().describe("The order") });
const find = async ({ id }: { id: string }) => ({ id, total: 42 });

const ORDER = { id: "a", total: 42 };
const FOUND: [string, Tools[string]][] = [
  ["the AI SDK, with zod", aiTool({ description: "Finds", inputSchema: input, execute: find })],
  [
    "the AI SDK, with a JSON Schema",
    aiTool({
      description: "Finds",
      inputSchema: jsonSchema<{ id: string }>({
        type: "object",
        properties: { id: { type: "string" } },
        required: ["id"],
      }),
      execute: find,
    }),
  ],
  [
    "the AI SDK, which yields how far it is",
    aiTool({
      description: "Finds",
      inputSchema: input,
      async *execute({ id }) {
        yield { id, total: 0 };
        yield await find({ id });
      },
    }),
  ],
  [
    "the AI SDK, whose schema is made when it is needed",
    {
      description: "Finds",
      inputSchema: () => jsonSchema(z.toJSONSchema(input) as never),
      execute: find,
    } as never,
  ],
  ["LangChain", langChainTool(find, { name: "find", description: "Finds", schema: input })],
  [
    "the OpenAI Agents SDK",
    agentsTool({ name: "find", description: "Finds", parameters: input, execute: find }),
  ],
];

describe.each(FOUND)("a tool of %s", (_, find) => {
  test("is typed, checked and called as a function of ptc", async () => {
    const ptc = await openPtc({ tools: { find } });
    const [right, wrong] = await Promise.all(
      ['{ id: "a" }', "{ name: 1 }"].map((args) =>
        ptc.run(
          `import * as own from "./servers/functions/index.js"; globalThis.result = await own.find(${args});`,
        ),
      ),
    );
    expect(right).toMatchObject({ ok: true, value: ORDER });
    expect(wrong?.error).toMatchObject({
      type: "TypeCheckError",
      message: expect.stringContaining("'name'"),
    });
    const found = await ptc
      .tools()
      .find(({ name }) => name === "inspect_tool")
      ?.execute({ tool_name: "mcp__functions__find" });
    expect(found?.text).toContain("Finds");
  });
});

const no = (): Promise<string> => {
  throw new Error("no such order");
};
const FAILING: [string, Tools[string], string][] = [
  ["the AI SDK", aiTool({ description: "Fails", inputSchema: input, execute: no }), "no such order"],
  ["LangChain", langChainTool(no, { name: "fail", description: "Fails", schema: input }), "no such order"],
  [
    "the OpenAI Agents SDK, which hides why",
    agentsTool({ name: "fail", description: "Fails", parameters: input, execute: no }),
    "errorFunction: null",
  ],
  [
    "the OpenAI Agents SDK, which tells why",
    agentsTool({ name: "fail", description: "Fails", parameters: input, execute: no, errorFunction: null }),
    "no such order",
  ],
];

test.each(FAILING)("what a tool of %s throws is a ToolError in the program", async (_, fail, why) => {
  const ptc = await openPtc({ tools: { fail } });
  const run = await ptc.run('await mcp__functions__fail({ id: "a" })');
  expect(run.error).toMatchObject({ type: "ToolError", message: expect.stringContaining(why) });
});

const options = { name: "pay", description: "Pays", parameters: input, execute: find };
const ASKED: [string, Tools[string]][] = [
  ["the AI SDK", aiTool({ description: "Pays", inputSchema: input, needsApproval: true, execute: find })],
  [
    "the AI SDK that decides by its arguments",
    aiTool({ description: "Pays", inputSchema: input, needsApproval: () => false, execute: find }),
  ],
  ["the OpenAI Agents SDK", agentsTool({ ...options, needsApproval: true })],
  [
    "the OpenAI Agents SDK that cannot decide without arguments",
    agentsTool({ ...options, needsApproval: async (_, { id }) => id.length > 1 }),
  ],
];

test.each(ASKED)("a tool of %s whose user would be asked is asked about", async (_, pay) => {
  const ptc = await openPtc({ tools: { pay } });
  const run = await ptc.run('await mcp__functions__pay({ id: "a" })');
  expect(run.waiting).toMatchObject({ tool: "mcp__functions__pay" });
});

test("a tool that needs an approval for some arguments only is not called with them unasked", async () => {
  const called: string[] = [];
  const pay = agentsTool({
    ...options,
    needsApproval: async (_, { id }) => id === "large",
    execute: async ({ id }) => void called.push(id),
  });
  const ptc = await openPtc({ tools: { pay } });
  const run = await ptc.run(
    'await mcp__functions__pay({ id: "small" }); await mcp__functions__pay({ id: "large" });',
  );
  expect(run.error).toMatchObject({ type: "ToolError", message: expect.stringContaining("approvals.ask") });
  expect(called).toEqual(["small"]);
});

const guardrail = { name: "g", run: async () => ({ behavior: { type: "allow" as const } }) };
const REFUSED: [string, unknown, string][] = [
  ["has nothing to execute", aiTool({ description: "d", inputSchema: input }), "has no execute"],
  [
    "has guardrails of its SDK",
    agentsTool({ ...options, inputGuardrails: [guardrail as never] }),
    "has inputGuardrails",
  ],
  ["has a handler", { name: "x", description: "d", inputSchema: {}, handler: find }, "Claude Agent SDK"],
  ["is misspelt", { description: "d", inputs: input, execute: find }, "did you mean 'input'?"],
  ["says what ptc does not know", { description: "d", retries: 3, execute: find }, "a tool has no 'retries'"],
];

test.each(REFUSED)("a tool that %s is refused in one line", async (_, given, why) => {
  const opened = openPtc({ tools: { given: given as never } });
  await expect(opened).rejects.toThrow(PtcError);
  await expect(opened).rejects.toThrow(`tools.given: `);
  await expect(opened).rejects.toThrow(why);
});
