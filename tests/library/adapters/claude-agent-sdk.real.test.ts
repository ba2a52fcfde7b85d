import { type CanUseTool, type Options, query, type SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { expect, test } from "vitest";
import { ptcPermission, ptcServer } from "../../../library/adapters/claude-agent-sdk.ts";
import { type CallOptions, type Ptc, tool } from "../../../library/ptc.ts";
import { claudeVariables, describeClient, findClaudeCode } from "../../clients/installed-client.ts";
import { type ModelApi, serveModel, toolResultOf } from "../../clients/model-api.ts";
import { openPtc, PAY, paying, ticketIn } from "../open.ts";

const EXECUTE = "mcp__ptc__execute_program";
const wipe = tool({
  description: "Deletes everything",
  annotations: { destructiveHint: true },
  execute: () => "gone",
});
const WIPE = "globalThis.result = await mcp__functions__wipe({})";

describeClient("the Claude Agent SDK", findClaudeCode, ([program]) => {
  function ask(ptc: Ptc & { folder: string }, model: ModelApi, more: Options = {}, given: CallOptions = {}) {
    return query({
      prompt: "Go on.",
      options: {
        mcpServers: { ptc: ptcServer(ptc, given) },
        allowedTools: ["mcp__ptc"],
        pathToClaudeCodeExecutable: program,
        cwd: ptc.folder,
        env: { PATH: process.env.PATH, ...claudeVariables(ptc.folder, model.origin) },
        settingSources: [],
        ...more,
      },
    });
  }

  async function all(messages: AsyncIterable<SDKMessage>): Promise<SDKMessage[]> {
    const seen: SDKMessage[] = [];
    for await (const message of messages) seen.push(message);
    return seen;
  }

  test("runs a program for its model in this process, and streams what the model says", async () => {
    const it = tool({ description: "It", execute: () => 41 });
    const ptc = await openPtc({ tools: { it } });
    const code = "globalThis.result = (await mcp__functions__it({})) + 1";
    const model = await serveModel([{ tool: EXECUTE, input: { code } }, { text: "It is 42." }], "Idle.");
    const seen = await all(ask(ptc, model, { includePartialMessages: true }));
    expect(seen.at(-1)).toMatchObject({ type: "result", subtype: "success", result: "It is 42." });
    expect(seen.some(({ type }) => type === "stream_event")).toBe(true);
    expect(toolResultOf(model.requests[1] as never).text).toContain("[Script executed successfully]\n42");
  });

  test("puts questions to `approve`, and tells the model of a failed program", async () => {
    const ptc = await openPtc({ tools: { wipe } });
    const turns = [
      { tool: EXECUTE, input: { code: WIPE } },
      { tool: EXECUTE, input: { code: "throw new Error('no')" } },
      { text: "Done." },
    ];
    const model = await serveModel(turns, "Idle.");
    await all(ask(ptc, model, {}, { approve: () => ({ allow: true }) }));
    expect(toolResultOf(model.requests[1] as never).text).toContain("gone");
    expect(toolResultOf(model.requests[2] as never)).toMatchObject({
      isError: true,
      text: expect.stringContaining("[Script execution failed]"),
    });
  });

  test("cancels a program when the query is aborted", async () => {
    const abortController = new AbortController();
    const stopped = Promise.withResolvers<void>();
    const slow = tool({
      description: "Never ends",
      execute: (_, { signal }) => {
        signal.addEventListener("abort", () => stopped.resolve());
        abortController.abort();
        return new Promise<void>(() => {});
      },
    });
    const ptc = await openPtc({ tools: { slow } });
    const code = "await mcp__functions__slow({})";
    const model = await serveModel([{ tool: EXECUTE, input: { code } }], "Idle.");
    await all(ask(ptc, model, { abortController })).catch(() => {});
    await stopped.promise;
  });

  /** Has a model pay, with `decide` as the query's permissions. */
  async function pay(decide: CanUseTool) {
    const { tools: functions, paid } = paying();
    const ptc = await openPtc({ tools: functions });
    const model = await serveModel(
      [
        { tool: EXECUTE, input: { code: PAY } },
        (told) => ({ tool: EXECUTE, input: { code: `ticket ${ticketIn(told)}` } }),
        { text: "Done." },
      ],
      "Idle.",
    );
    await all(ask(ptc, model, { allowedTools: [], canUseTool: ptcPermission(ptc, decide) }));
    const [waits, result] = [1, 2].map((at) => toolResultOf(model.requests[at] as never));
    return { paid, waits, result: result as NonNullable<typeof result> };
  }

  test("asks `canUseTool` about the call of a program, and a yes has just that program go on", async () => {
    const asked: unknown[] = [];
    const { paid, waits, result } = await pay(async (tool, args) => {
      asked.push([tool, args]);
      return { behavior: "allow", updatedInput: args };
    });
    expect(asked).toEqual([["mcp__functions__pay", { order: 7 }]]);
    // The SDK asks about the call that goes on, so nobody needs a terminal.
    expect(waits?.text).toMatch(/Call execute_program \{.*\} now: the user is asked/);
    expect(waits?.text).not.toContain("ptc approvals");
    expect(paid).toEqual(["read", "pay 7"]);
    expect(result.text).toContain("paid 7");
  });

  test("sends the user to a terminal where the SDK asks nobody about ptc's tools", async () => {
    const { tools: functions } = paying();
    const ptc = await openPtc({ tools: functions });
    const model = await serveModel([{ tool: EXECUTE, input: { code: PAY } }, { text: "Done." }], "Idle.");
    await all(
      ask(ptc, model, { canUseTool: ptcPermission(ptc, async () => ({ behavior: "deny", message: "no" })) }),
    );
    expect(toolResultOf(model.requests[1] as never).text).toContain("ptc approvals approve");
  });

  test("has the program read a no of `canUseTool` with its message", async () => {
    const { paid, result } = await pay(async () => ({ behavior: "deny", message: "too much" }));
    expect(paid).toEqual(["read"]);
    expect(result).toMatchObject({ isError: true, text: expect.stringMatching(/ApprovalDenied.*too much/s) });
  });
});
