import { once } from "node:events";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import type { ApprovalAnswer } from "../../../broker/approvals/approvals.ts";
import { buildFailure } from "../../../protocol/failure.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { serversOf } from "../../catalog/tool-of.ts";
import { CONNECT, connectLegacy, ERAS, progressOptions, RawClient, signalOptions } from "./clients.ts";
import { CANCELLED, EXECUTE, executed, executing, FakeCatalog, REQUEST, serve, succeeded } from "./served.ts";

describe.each(ERAS)("a client of %s", (era) => {
  it("lists the tools, is told what ptc is for, and gets a program's answer", async () => {
    const catalog = new FakeCatalog(serversOf({ github: [{ name: "list_issues" }] }));
    const served = serve(async ({ code, data }) => executed({ data: { code, data } }), { catalog });
    const client = await CONNECT[era](served);
    expect(client.getInstructions()).toContain("Servers: github");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("execute_program");
    const reply = await client.callTool({ ...EXECUTE, arguments: { code: "1", data: { a: 2 } } });
    expect(reply.content).toEqual([
      { type: "text", text: '[Script executed successfully]\n{"code":"1","data":{"a":2}}' },
    ]);
    expect(reply._meta).toMatchObject({ "ptc/envelope": { run_id: "run-1", result: { ok: true } } });
    expect(reply.structuredContent).toBeUndefined();
  });

  it("is told which call is under way, and how many there were", async () => {
    const seen: { progress: number; message?: string | undefined }[] = [];
    const served = serve(async (_, { onCallStarted }) => {
      await null;
      onCallStarted?.({ seq: 1, tool: "mcp__a__b" });
      for (let seq = 2; seq <= 50; seq++) onCallStarted?.({ seq, tool: "mcp__a__c" });
      await expect.poll(() => seen.at(-1)?.progress).toBe(50);
      return executed({ data: 1 });
    });
    const client = await CONNECT[era](served);
    await client.callTool(EXECUTE, ...progressOptions(era, (progress) => seen.push(progress)));
    expect(seen[0]).toMatchObject({ progress: 1, message: "call 1: mcp__a__b" });
    expect(seen.at(-1)).toMatchObject({ progress: 50, message: "call 50: mcp__a__c" });
    // A tenth of a second may pass in between on a busy machine.
    expect(seen.length).toBeLessThan(10);
  });

  it("asks its person for an approval, as often as a program needs one", async () => {
    const answers: ApprovalAnswer[] = [];
    const served = serve(async (_, { approver, signal }) => {
      for (let i = 0; i < 8; i++) answers.push(await approver.ask({ ...REQUEST, isAgain: i > 0 }, signal));
      return executed({ data: 1 });
    });
    const asked: string[] = [];
    const client = await CONNECT[era](served, (message) => {
      asked.push(message);
      if (asked.length === 2) return { action: "decline" };
      if (asked.length === 3) return { action: "accept", content: { decision: "no" } };
      if (asked.length === 1) return { action: "accept", content: {} };
      return { action: "accept", content: { decision: "like", at_most: 3, may_differ: "table=u*" } };
    });
    const reply = await client.callTool(EXECUTE);
    expect(reply.content).toMatchObject(succeeded("1"));
    expect(asked[0]).toBe('Allow mcp__a__drop with 1 argument?\ntable: "users"');
    expect(answers.slice(0, 4)).toEqual(
      ["once", "denied", "denied", "run"].map((decision) => ({
        decision,
        by: "elicitation",
        how: expect.stringMatching(/calls itself test 1; a person, or a hook of the client$/),
        ...(decision === "run" ? { except: { table: "u*" }, atMost: 3 } : {}),
        ...(decision === "denied" ? { why: "was declined by the client" } : {}),
      })),
    );
    expect(answers).toHaveLength(8);
  });

  it("without a way to ask a person leaves a question for later", async () => {
    const served = serve(async (_, { approver, signal }) =>
      executed({ data: (await approver.ask(REQUEST, signal)).decision }),
    );
    const client = await CONNECT[era](served);
    expect((await client.callTool(EXECUTE)).content).toMatchObject([
      { text: expect.stringContaining("later") },
    ]);
  });

  it("ends a program by cancelling its request", async () => {
    const { promise: running, resolve: begun } = Promise.withResolvers<void>();
    let aborted = false;
    const served = serve(async (_, { signal }) => {
      begun();
      await once(signal, "abort");
      aborted = true;
      return CANCELLED;
    });
    const client = await CONNECT[era](served);
    const cancel = new AbortController();
    const reply = client.callTool(EXECUTE, ...signalOptions(era, cancel.signal)).catch(() => "cancelled");
    await running;
    cancel.abort();
    expect(await reply).toBe("cancelled");
    await expect.poll(() => aborted).toBe(true);
  });

  it("takes every program with it when it goes", async () => {
    let started = 0;
    const ended: string[] = [];
    const served = serve(async ({ code }, { signal }) => {
      started++;
      await once(signal, "abort");
      ended.push(code);
      return CANCELLED;
    });
    const client = await CONNECT[era](served);
    for (const code of ["a", "b"]) client.callTool(executing(code)).catch(() => {});
    await expect.poll(() => started).toBe(2);
    await client.close();
    await served.ended;
    expect(ended.sort()).toEqual(["a", "b"]);
  });
});

describe("a connection", () => {
  it("announces when the set of servers has changed", async () => {
    const catalog = new FakeCatalog([]);
    const client = await connectLegacy(serve(async () => executed({ data: 1 }), { catalog }));
    const told = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    );
    await client.listTools();
    catalog.change(serversOf({ gitlab: [{ name: "list_issues" }] }));
    await told;
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "search_tools")?.description).toContain("Servers: gitlab.");
  });

  it.each([
    ["execute_program", {}, "code must be a text: the program"],
    ["execute_program", { code: " \n" }, "code is empty: give a program"],
    ["execute_program", { code: 1 }, "code must be a text: the program"],
    ["execute_program", { code: "x".repeat(5_000_000) }, /^code is larger than 2097152 bytes/],
    ["execute_program", { code: "1", data: [1] }, "data must be an object"],
    ["execute_program", { code: "1", timeout_seconds: 0 }, "timeout_seconds must be more than 0"],
    ["execute_program", { code: "1", timeout_seconds: "5s" }, "timeout_seconds must be a number"],
    ["execute_program", { code: "1", timeout_seconds: "100000" }, "timeout_seconds must be at most 86400"],
    ["execute_program", { code: "1", data: "[1]" }, "data must be an object"],
    ["execute_program", { code: "1", data: "some text" }, "data must be an object"],
    ["execute_program", { code: null }, "code must be a text: the program"],
    ["execute_program", { code: ["a", 1] }, "code must be a text: the program"],
    [
      "execute_program",
      { code: "1", timeout: 5 },
      /^there is no argument 'timeout'; there are code, data,.*; did you mean 'timeout_seconds'\?$/,
    ],
    ["execute_program", { program: "1" }, /; did you mean 'code'\?$/],
    ["execute_program", { code: "1", typeCheck: "off" }, /; did you mean 'typecheck'\?$/],
    [
      "inspect_tool",
      { tool: "x" },
      /^there is no argument 'tool'; there are tool_name, .*; did you mean 'tool_name'\?$/,
    ],
    ["search_tools", { query: "x", limit: "5.5" }, "limit must be a whole number"],
    ["read_output", { run: "x", zzz: 1 }, /^there is no argument 'zzz'; there are run, offset, grep$/],
    ["execute_program", { code: "1", typecheck: "yes" }, "typecheck must be error, warn or off"],
    ["search_tools", { query: "" }, "query is empty"],
    ["search_tools", { query: "x", limit: 1_000 }, "limit must be at most 100"],
    ["search_tools", { query: "x", detail: "all" }, "detail must be name, description or signature"],
    ["inspect_tool", {}, "tool_name must be a text"],
    ["list_callable_tools", { server: 1 }, "server must be a text"],
  ])("answers wrong arguments of %s with one line", async (name, args, message) => {
    const client = await connectLegacy(serve(async () => executed({ data: 1 })));
    const reply = await client.callTool({ name, arguments: args as Record<string, unknown> });
    expect(reply).toMatchObject({
      isError: true,
      content: [{ text: typeof message === "string" ? message : expect.stringMatching(message) }],
    });
  });

  it("says so when there is no such tool", async () => {
    const client = await connectLegacy(serve(async () => executed({ data: 1 })));
    await expect(client.callTool({ name: "run_all" })).rejects.toThrow("Unknown tool: run_all");
  });

  it("survives garbage on its input", async () => {
    const served = serve(async () => executed({ data: 1 }));
    served.toServer.write(
      'garbage\n{"jsonrpc":"2.0"}\n[]\n{"jsonrpc":"1.0","id":1,"method":"x"}\n\u0000\n\n',
    );
    const client = await connectLegacy(served);
    expect((await client.listTools()).tools).toHaveLength(5);
    expect(served.warnings.length).toBeGreaterThan(0);
  });

  it("takes an answer only from the holder of the ticket, and only once", async () => {
    let asked = 0;
    const served = serve(async (_, { approver, signal }) => {
      asked++;
      const { decision } = await approver.ask(REQUEST, signal);
      return decision === "denied"
        ? executed(buildFailure("ToolError", "denied"))
        : executed({ data: decision });
    });
    const client = new RawClient(served);
    const send = (id: number, params: object) => client.callModern(id, { ...EXECUTE, ...params });
    const answers = { inputResponses: { approval: { action: "accept", content: { decision: "once" } } } };
    const question = await send(1, {});
    expect(question.result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    const requestState = question.result?.requestState;
    expect(await send(2, { ...answers, requestState: "guessed" })).toMatchObject({
      result: {
        isError: true,
        content: [
          { text: "the program that asked is over; `ptc runs list` has what it did, before it is run again" },
        ],
      },
    });
    const taken = await send(3, { ...answers, requestState });
    expect(taken.result?.content).toMatchObject(succeeded('"once"'));
    expect(await send(4, { ...answers, requestState })).toMatchObject({ result: { isError: true } });
    expect(asked).toBe(1);
  });
});

it("runs a client's programs on behalf of the owner of its session", async () => {
  const context: RunContext = { principal: "ada", source: "serve", session: "s-1" };
  const contexts: RunContext[] = [];
  const served = serve(
    async (_, options) => {
      contexts.push(options.context);
      return executed({ data: 1 });
    },
    { context },
  );
  const connected = await connectLegacy(served);
  for (const code of ["1", "2"]) await connected.callTool(executing(code));
  await connected.close();
  await served.ended;
  const client = { name: "test", version: "1" };
  expect(contexts).toEqual(Array(2).fill({ ...context, client }));
});
