/** How many sessions one principal has, whatever they keep open. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { executed, serviceOf } from "../mcp/served.ts";
import { serveHttpHere } from "./served-http.ts";

const INITIALIZE = {
  ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
};
const HEADERS = {
  ...{ "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
  "MCP-Protocol-Version": "2025-11-25",
};
const MOST = 100;

async function begin(url: URL) {
  const response = await fetch(url, { method: "POST", headers: HEADERS, body: JSON.stringify(INITIALIZE) });
  await response.text();
  return { status: response.status, id: response.headers.get("mcp-session-id") ?? "" };
}

/** Opens the stream of news of a session, which a client keeps open. Nothing comes on it before there is any. */
async function listen(url: URL, id: string): Promise<void> {
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const headers = { Accept: "text/event-stream", "Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25" };
  const stream = fetch(url, { headers, signal: over.signal }).catch(() => {});
  await Promise.race([stream, delay(20)]);
}

const isThere = async (url: URL, id: string) => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const response = await fetch(url, { method: "POST", headers: { ...HEADERS, "Mcp-Session-Id": id }, body });
  await response.text();
  return response.status !== 404;
};

test("sessions of one principal are bounded though each has an open stream, and the oldest end", async () => {
  const { url } = await serveHttpHere(serviceOf(async () => executed({ data: 1 })));
  const ids: string[] = [];
  for (let i = 0; i < MOST + 10; i++) {
    const { id } = await begin(url);
    await listen(url, id);
    ids.push(id);
  }
  const there = await Promise.all(ids.map((id) => isThere(url, id)));
  expect(there.filter(Boolean).length).toBe(MOST);
  expect(there.slice(0, 10)).toEqual(Array(10).fill(false));
});

test("a session in which a program runs is not ended for another, which is refused where something runs in all", async () => {
  const ended = Promise.withResolvers<void>();
  const { url } = await serveHttpHere(
    serviceOf(async () => ended.promise.then(() => executed({ data: 1 })), {
      maxPrograms: 200,
      maxQueued: 200,
    }),
  );
  const call = { name: "execute_program", arguments: { code: "1" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: call });
  const running: Promise<Response>[] = [];
  for (let i = 0; i < MOST; i++) {
    const { id } = await begin(url);
    running.push(fetch(url, { method: "POST", headers: { ...HEADERS, "Mcp-Session-Id": id }, body }));
  }
  await Promise.all(running);
  expect((await begin(url)).status).toBe(429);
  ended.resolve();
  for (const response of running) expect(await (await response).text()).toContain("executed");
  await expect.poll(async () => (await begin(url)).status).toBe(200);
});
