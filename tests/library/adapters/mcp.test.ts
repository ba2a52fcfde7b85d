import { Client as ModernClient } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { mcpServer } from "../../../library/adapters/mcp.ts";
import { type CallOptions, type Ptc, tool } from "../../../library/ptc.ts";
import { openPtc, useNoWalls } from "../open.ts";

useNoWalls();

const wipe = tool({
  description: "Deletes everything",
  annotations: { destructiveHint: true },
  execute: () => "gone",
});
const WIPE = "globalThis.result = await mcp__functions__wipe({})";

async function connect(ptc: Ptc, options: CallOptions = {}, capabilities: object = {}): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { capabilities });
  await client.connect(await mcpServer(ptc, options).transport());
  onTestFinished(() => client.close());
  return client;
}

const run = (code: string) => ({ name: "execute_program", arguments: { code } });

describe("the server in memory", () => {
  test("lists ptc's tools and runs programs, for a client of the older era", async () => {
    const client = await connect(await openPtc());
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("execute_program");
    const result = await client.callTool(run("globalThis.result = 6 * 7"));
    expect(result.content).toEqual([{ type: "text", text: "[Script executed successfully]\n42" }]);
    expect(client.getInstructions()).toContain("execute_program");
  });

  test("does the same for a client of the newer era", async () => {
    const ptc = await openPtc();
    const client = new ModernClient({ name: "test", version: "1" });
    await client.connect((await mcpServer(ptc).transport()) as never);
    onTestFinished(() => client.close());
    const result = await client.callTool(run("globalThis.result = 6 * 7"));
    expect(result.content).toEqual([{ type: "text", text: "[Script executed successfully]\n42" }]);
  });

  test("reports the progress of a program", async () => {
    const it = tool({ description: "It", execute: () => 1 });
    const client = await connect(await openPtc({ tools: { it } }));
    const told: (string | undefined)[] = [];
    await client.callTool(run("await mcp__functions__it({})"), undefined, {
      onprogress: ({ message }) => void told.push(message),
    });
    expect(told).toContain("call 1: mcp__functions__it");
  });

  test("reports the last call of a program before its result, however soon it ends", async () => {
    const [first, last] = [
      tool({ description: "One", execute: () => 1 }),
      tool({ description: "Two", execute: () => 2 }),
    ];
    const client = await connect(await openPtc({ tools: { first, last } }));
    const told: (string | undefined)[] = [];
    const code = "await mcp__functions__first({}); await mcp__functions__last({});";
    const onprogress = ({ message }: { message?: string | undefined }) => void told.push(message);
    await client.callTool(run(code), undefined, { onprogress });
    expect(told.at(-1)).toBe("call 2: mcp__functions__last");
  });

  test("puts questions to a client that can show them", async () => {
    const client = await connect(await openPtc({ tools: { wipe } }), {}, { elicitation: {} });
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: {} }));
    const { content } = await client.callTool(run(WIPE));
    expect(JSON.stringify(content)).toContain("gone");
  });

  test("puts them to `approve` where there is one, and not to the client", async () => {
    const ptc = await openPtc({ tools: { wipe } });
    const client = await connect(ptc, { approve: () => ({ allow: true }) }, { elicitation: {} });
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "decline" }));
    const { content } = await client.callTool(run(WIPE));
    expect(JSON.stringify(content)).toContain("gone");
  });

  test("tells a failed program apart", async () => {
    const client = await connect(await openPtc());
    expect(await client.callTool(run("throw new Error('no')"))).toMatchObject({ isError: true });
  });

  test("cancels a program whose request is cancelled, or whose client has gone", async () => {
    let stopped = Promise.withResolvers<void>();
    let started = () => {};
    const slow = tool({
      description: "Never ends",
      execute: (_, { signal }) => {
        signal.addEventListener("abort", () => stopped.resolve());
        started();
        return new Promise<void>(() => {});
      },
    });
    const client = await connect(await openPtc({ tools: { slow } }));
    const cancel = new AbortController();
    started = () => cancel.abort();
    const code = run("await mcp__functions__slow({})");
    await client.callTool(code, undefined, { signal: cancel.signal }).catch(() => {});
    await stopped.promise;
    stopped = Promise.withResolvers();
    started = () => void client.close();
    await client.callTool(code).catch(() => {});
    await stopped.promise;
  });

  test("ends with its ptc", async () => {
    const ptc = await openPtc();
    const client = await connect(ptc);
    const closed = new Promise<void>((resolve) => {
      client.onclose = resolve;
    });
    await ptc.close();
    await closed;
  });
});
