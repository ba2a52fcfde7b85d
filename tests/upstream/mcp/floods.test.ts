import type { RequestListener } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, vi } from "vitest";
import { answerTo } from "../../fixtures/servers/hostile-answers.ts";
import { connect, fixture, toolCall } from "../upstream-fixtures.ts";
import { event, readJson } from "./hostile-http-servers.ts";
import { listen } from "./upstream-http-servers.ts";

const notice = (method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", method, params });
const filler = "x".repeat(100);

/** What servers send that nobody has asked for. */
const FLOODS: [string, string][] = [
  ["that its tools have changed", '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'],
  ["messages to log", notice("notifications/message", { level: "info", data: filler })],
  ["progress", notice("notifications/progress", { progressToken: 1, progress: 1, message: filler })],
  ["pings", '{"jsonrpc":"2.0","id":"ping","method":"ping"}'],
  ["requests", '{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[]}}'],
  ["answers to nothing", `{"jsonrpc":"2.0","id":987654,"result":{"content":[{"text":"${filler}"}]}}`],
  ["garbage", "x".repeat(60)],
];

const TIMES = 50_000;
/** Far more than a flood may leave behind, far less than its messages take up when they are kept. */
const MAX_GROWTH_BYTES = 8 * 1024 * 1024;
const BETWEEN_MEASUREMENTS_MS = 200;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Runs work, and returns how much more memory was held at the worst of the moments at which it was measured. */
async function growthDuring(work: Promise<unknown>): Promise<number> {
  let isOver = false;
  const settled = work.finally(() => {
    isOver = true;
  });
  const before = heldBytes();
  let growth = 0;
  while (!isOver) {
    growth = Math.max(growth, heldBytes() - before);
    await Promise.race([delay(BETWEEN_MEASUREMENTS_MS), settled]);
  }
  await settled;
  return growth;
}

describe("a server that floods", () => {
  it.each(FLOODS)(
    "with %s gets its call answered, and little memory",
    { timeout: 120_000 },
    async (_, text) => {
      const target = fixture("floods.ts");
      const connection = await connect({ ...target, args: [...target.args, text, String(TIMES)] });
      const changed = vi.fn();
      connection.onToolsChanged(changed);
      const call = connection.callTool(toolCall("go", {}, { timeoutMs: 100_000 }));
      expect(await growthDuring(call)).toBeLessThan(MAX_GROWTH_BYTES);
      expect(await call).toEqual({ content: [{ type: "text", text: "fine" }] });
      expect(changed.mock.calls.length).toBeLessThan(TIMES / 100);
    },
  );

  it.each([
    ["pings", '{"jsonrpc":"2.0","id":"ping","method":"ping"}'],
    ["requests", '{"jsonrpc":"2.0","id":5,"method":"roots/list"}'],
  ])("with %s whose answers it does not read gets few of them", { timeout: 120_000 }, async (_, text) => {
    const target = fixture("floods.ts");
    const connection = await connect({ ...target, args: [...target.args, text, String(TIMES), "deaf"] });
    const call = connection.callTool(toolCall("go", {}, { timeoutMs: 100_000 }));
    expect(await growthDuring(call)).toBeLessThan(MAX_GROWTH_BYTES);
    expect(await call).toEqual({ content: [{ type: "text", text: "fine" }] });
  });

  it.each(FLOODS.slice(2, 5))(
    "over HTTP with %s gets its call answered, and little memory",
    { timeout: 120_000 },
    async (_, text) => {
      const posted = { messages: 0 };
      const target = {
        name: "x",
        transport: "http" as const,
        headers: {},
        url: await listen(flooding(text, posted)),
      };
      const connection = await connect(target);
      const call = connection.callTool(toolCall("go", {}, { timeoutMs: 100_000 }));
      expect(await growthDuring(call)).toBeLessThan(MAX_GROWTH_BYTES);
      expect(await call).toEqual({ content: [{ type: "text", text: "fine" }] });
      expect(posted.messages).toBeLessThan(TIMES / 10);
    },
  );
});

/** Floods the stream that answers a call of `go`. */
function flooding(text: string, posted: { messages: number }): RequestListener {
  return async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const asked = await readJson(request);
    posted.messages++;
    if (asked.method === undefined || asked.id === undefined) return void response.writeHead(202).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (asked.method === "tools/call" && asked.params?.name === "go") {
      asked.params.name = "fine";
      const batch = event(text).repeat(1_000);
      for (let sent = 0; sent < TIMES && response.writable; sent += 1_000) {
        if (!response.write(batch)) await new Promise((resolve) => response.once("drain", resolve));
      }
    }
    response.end(event(answerTo(asked, '{"tools":[]}') ?? ""));
  };
}
