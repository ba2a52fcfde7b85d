import { createRequire } from "node:module";
import { json } from "node:stream/consumers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { QuestionAnswer, ServerQuestion, UpstreamConnection } from "../../../upstream/upstream.ts";
import { eventually } from "../../eventually.ts";
import { connect, fixture, jsonOf, toolCall, upstreamErrorOf } from "../upstream-fixtures.ts";
import { openCalls } from "./scripted-session.ts";
import { listen } from "./upstream-http-servers.ts";

const EVERYTHING = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

/** Makes a server that only waits for effect wait a tenth as long. */
const HASTY = `data:text/javascript,${encodeURIComponent(
  "const wait = setTimeout; globalThis.setTimeout = (work, ms, ...args) => wait(work, ms / 10, ...args);",
)}`;

const logOf = async (connection: UpstreamConnection) =>
  jsonOf(await connection.callTool(toolCall("log"))) as { log: unknown[]; declared: object };

const accepts = (content: Record<string, unknown>) =>
  vi.fn<(question: ServerQuestion) => Promise<QuestionAnswer>>(async () => ({
    kind: "answered",
    result: { action: "accept", content },
  }));

describe("a call that a server makes a task of", () => {
  it("has the task's result, and what was declared allows it", async () => {
    const connection = await connect(fixture("tasks.mjs"));
    expect(await connection.callTool(toolCall("works"))).toEqual({
      content: [],
      structuredContent: { poll: 3 },
    });
    expect(await connection.callTool(toolCall("at_once"))).toMatchObject({
      structuredContent: { poll: 1 },
    });
    expect(await logOf(connection)).toEqual({
      log: [
        ["create", "works"],
        ["create", "at_once"],
      ],
      declared: { "io.modelcontextprotocol/tasks": {}, "io.modelcontextprotocol/skills": {} },
    });
  });

  it("asks the person once for each thing that the task needs", async () => {
    const connection = await connect(fixture("tasks.mjs"));
    const ask = accepts({ color: "red" });
    const result = await connection.callTool(toolCall("asks", {}, { ask }));
    expect(jsonOf(result)).toEqual({ first: { action: "accept", content: { color: "red" } } });
    expect(ask).toHaveBeenCalledTimes(1);
    expect((await logOf(connection)).log).toEqual([
      ["create", "asks"],
      ["update", "asks"],
    ]);
  });

  it.each([
    ["fails", "remote_error", "server 'x' rejected the request: no disk (-32603)"],
    ["cancelled", "remote_error", "server 'x' has cancelled the task that it made of the call"],
    ["no_result", "protocol_error", "server 'x' ended a task with something that is no tool result"],
    ["another", "protocol_error", "server 'x' answered tasks/get with something that is not that task"],
    ["odd", "protocol_error", "server 'x' speaks of its task in a way that is none of the protocol's"],
  ])("fails in one line when the task %s", async (tool, code, message) => {
    const connection = await connect(fixture("tasks.mjs"));
    const error = await upstreamErrorOf(connection.callTool(toolCall(tool)));
    expect(error).toMatchObject({ code, message });
  });

  it.each([
    ["its run", "cancelled"],
    ["a question that nobody answers", "input_refused"],
  ])("ends with %s, and its task is cancelled", async (end, code) => {
    const connection = await connect(fixture("tasks.mjs"));
    const stop = new AbortController();
    const tool = code === "input_refused" ? "asks" : "endless";
    const failed = upstreamErrorOf(connection.callTool(toolCall(tool, {}, { signal: stop.signal })));
    const created = ["create", tool];
    if (end === "its run") {
      await eventually(async () => expect((await logOf(connection)).log).toEqual([created]));
      stop.abort();
    }
    expect(await failed).toMatchObject({ code });
    await eventually(async () => expect((await logOf(connection)).log).toEqual([created, ["cancel", tool]]));
  });

  it("ends with its time, and its task is cancelled", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { calls, sent, answer, idOf } = openCalls();
    const failed = upstreamErrorOf(
      calls.call("tools/call", { name: "go" }, toolCall("go", {}, { timeoutMs: 2_000 })),
    );
    answer({
      id: idOf(0),
      result: { resultType: "task", taskId: "t1", status: "completed" },
    });
    await vi.advanceTimersByTimeAsync(1_999);
    expect(sent.at(-1)?.message).toMatchObject({ method: "tasks/get", params: { taskId: "t1" } });
    await vi.advanceTimersByTimeAsync(1);
    expect(await failed).toMatchObject({ code: "call_timeout" });
    expect(sent.at(-1)?.message).toMatchObject({ method: "tasks/cancel", params: { taskId: "t1" } });
  });
});

describe("a task over HTTP", () => {
  it("is named in the headers of what is asked of it, by which proxies find its server", async () => {
    const names: unknown[] = [];
    const task = { taskId: "t1", pollIntervalMs: 1 };
    const results: Record<string, object> = {
      "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
      "tools/call": { ...task, resultType: "task", status: "working" },
      "tasks/get": { ...task, status: "completed", result: { content: [], structuredContent: {} } },
    };
    const url = await listen(async (request, response) => {
      const { id, method } = (await json(request)) as { id: number; method: string };
      names.push([method, request.headers["mcp-name"]]);
      const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...results[method] };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    const connection = await connect({ name: "x", transport: "http", url: `${url}/mcp`, headers: {} });
    expect(await connection.callTool(toolCall("go"))).toEqual({
      content: [],
      structuredContent: {},
    });
    expect(names.slice(1)).toEqual([
      ["tools/call", "go"],
      ["tasks/get", "t1"],
    ]);
  });
});

describe("a tool of a real server of 2025-11-25 that can only be called as a task", () => {
  it("is called as one, asks the person, and answers", async () => {
    const connection = await connect(fixture("", { args: ["--import", HASTY, EVERYTHING] }));
    const tools = (await connection.list()).tools as { name: string }[];
    const definition = tools.find(({ name }) => name === "simulate-research-query");
    const ask = accepts({ interpretation: "snake" });
    const args = { topic: "python", ambiguous: true };
    const call = connection.callTool(toolCall("simulate-research-query", args, { ask, definition }));
    expect(JSON.stringify(await call)).toContain("Research Report: python (snake)");
    expect(ask).toHaveBeenCalledTimes(1);
  });
});
