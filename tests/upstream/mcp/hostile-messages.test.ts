import { describe, expect, it } from "vitest";
import { digestOf } from "../../../protocol/canonical-json.ts";
import type { McpServerTarget } from "../../../upstream/mcp/mcp-server-target.ts";
import type { UpstreamConnection } from "../../../upstream/upstream.ts";
import { connect, fixture, toolCall, upstreamErrorOf } from "../upstream-fixtures.ts";
import { serveHostile, serveHostileSse } from "./hostile-http-servers.ts";
import { listen } from "./upstream-http-servers.ts";

const remote = (url: string, transport: "http" | "sse"): McpServerTarget => ({
  name: "x",
  transport,
  url,
  headers: {},
});

const TRANSPORTS: [string, () => Promise<McpServerTarget>][] = [
  ["stdio", async () => fixture("hostile.ts")],
  ["Streamable HTTP, one body", async () => remote(await listen(serveHostile({ stream: false })), "http")],
  ["Streamable HTTP, a stream", async () => remote(await listen(serveHostile({ stream: true })), "http")],
  ["SSE", async () => remote(await listen(serveHostileSse()), "sse")],
];

const REFUSED: [string, RegExp][] = [
  [
    "infinite",
    /^server 'x' answered with a message that holds a number beyond all that JSON's readers agree on$/,
  ],
  ["minus_infinite", /holds a number beyond/],
  ["long_number", /holds a number beyond/],
  ["duplicate", /^server 'x' answered with a message that has the key "a" twice in one object$/],
  ["escaped_duplicate", /has the key "a" twice in one object$/],
  ["deep", /^server 'x' answered with a message that nests deeper than 128 levels$/],
  ["very_deep", /nests deeper than 128 levels$/],
  ["many", /holds more than 1000000 values$/],
  ["cut", /^server 'x' answered with a message that is no JSON$/],
  ["two_ids", /has the key "id" twice$/],
  ["two_results", /has the key "result" twice$/],
  ["infinite_error", /holds a number beyond/],
  ["forged_fault", /^server 'x' rejected the request: no \(1\)$/],
];

describe.each(TRANSPORTS)("what a hostile server answers over %s", (_, target) => {
  const call = (connection: UpstreamConnection, tool: string) =>
    connection.callTool(toolCall(tool, {}, { timeoutMs: 30_000 }));

  it("fails the one call that it answers, in one line", async () => {
    const connection = await connect(await target());
    for (const [tool, message] of REFUSED) {
      const error = await upstreamErrorOf(call(connection, tool));
      expect(error.message, tool).toMatch(message);
      expect(error, tool).toMatchObject({ retryable: false });
      expect(error.message, tool).not.toMatch(/\p{Cc}/u);
      expect(await call(connection, "fine"), tool).toEqual({ content: [{ type: "text", text: "fine" }] });
    }
  });

  it("is the answer also where it repeats the number of the request as text", async () => {
    const connection = await connect(await target());
    expect(await call(connection, "text_id")).toEqual({ content: [{ type: "text", text: "text_id" }] });
    expect(await call(connection, "forged_raw")).toEqual({ content: [], "ptc/raw": 7 });
  });

  it("costs its list no more than what cannot be read of single tools", async () => {
    const connection = await connect(await target());
    const { tools, problems } = await connection.list();
    const leftOut = (why: string) => ({
      $comment: expect.stringContaining(`left out by ptc: ${why}, sha256:`),
    });
    expect(tools).toEqual([
      { name: "plain", inputSchema: { type: "object" } },
      {
        name: "infinite",
        description: "d",
        inputSchema: leftOut("holds a number beyond all that JSON's readers agree on"),
      },
      {
        name: "deep",
        inputSchema: leftOut("nests deeper than 1000 levels"),
        outputSchema: { type: "object" },
      },
      {
        name: "duplicate",
        inputSchema: leftOut('has the key "type" twice in one object'),
        annotations: { destructiveHint: true },
      },
      { name: "hints", inputSchema: {}, annotations: { destructiveHint: true } },
      { name: "twice", inputSchema: {}, annotations: { destructiveHint: true } },
    ]);
    expect(problems).toEqual([
      {
        tool: "infinite",
        message: expect.stringMatching(/^its inputSchema holds a number .*, and is left out$/),
      },
      { tool: "deep", message: "its inputSchema nests deeper than 1000 levels, and is left out" },
      {
        tool: "duplicate",
        message: 'its inputSchema has the key "type" twice in one object, and is left out',
      },
      {
        tool: "hints",
        message: 'its annotations has the key "destructiveHint" twice in one object, and is left out',
      },
      { tool: "twice", message: "its annotations is there twice, and is left out" },
      {
        message: expect.stringMatching(
          /^a tool without a readable name is left out: it has the key "name" twice/,
        ),
      },
      { message: expect.stringMatching(/^a tool without a readable name is left out: it holds a number/) },
    ]);
    expect(digestOf(tools)).toMatch(/^sha256:/);
  });
});
