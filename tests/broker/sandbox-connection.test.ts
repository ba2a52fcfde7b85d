import { once } from "node:events";
import { duplexPair } from "node:stream";
import { describe, expect, it } from "vitest";
import type { CallAnswer } from "../../broker/dispatcher.ts";
import { SandboxConnection } from "../../broker/sandbox-connection.ts";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";
import {
  MAX_QUEUED_CALL_BYTES,
  MAX_QUEUED_CALLS,
  MAX_TRACE_SERIES_CHARS,
  MAX_TRACES,
  PROTOCOL_VERSION,
} from "../../protocol/limits.ts";
import type { Call } from "../../protocol/messages.ts";
import { eventually } from "../eventually.ts";

const HELLO = { type: "hello", protocol: PROTOCOL_VERSION, language: "javascript", runtime: "v24" };
const BIG = 64 * 1024 * 1024;

type Reply = { id: number; ok: boolean; data?: unknown; raw?: unknown; error?: { message: string } };

const never = () => new Promise<never>(() => {});

function open(
  dispatch: (call: Call, signal: AbortSignal) => Promise<CallAnswer> = never,
  limits = { maxParallelCalls: 2, maxToolCalls: 100 },
) {
  const [host, sandbox] = duplexPair();
  const connection = new SandboxConnection(host, limits, dispatch);
  const decoder = new FrameDecoder(BIG);
  const replies: Reply[] = [];
  let arrived = () => {};
  sandbox.on("data", (chunk: Buffer) => {
    for (const payload of decoder.push(chunk)) replies.push(JSON.parse(payload.toString()) as Reply);
    arrived();
  });
  const until = async (count: number) => {
    while (replies.length < count) {
      await new Promise<void>((resolve) => {
        arrived = resolve;
      });
    }
    return replies;
  };
  const send = (...messages: unknown[]) => {
    for (const message of messages) sandbox.write(encodeFrame(message, BIG));
  };
  return { connection, host, sandbox, send, until };
}

const call = (id: number, rest: object = {}) => ({
  type: "call",
  id,
  tool: "mcp__a__b",
  arguments: {},
  ...rest,
});
const echo = async (request: Call): Promise<CallAnswer> => ({
  ok: true,
  data: request.arguments,
  raw: "raw",
  bytes: 3,
});

describe("a broker connection", () => {
  it("answers each call by its id, with the MCP result only where it is asked for", async () => {
    const { connection, send, until } = open(echo);
    send(HELLO, call(7, { arguments: { a: 1 } }), call(8, { arguments: [], raw: true }));
    expect(await connection.ready).toMatchObject({ language: "javascript" });
    expect(await until(2)).toEqual([
      { type: "reply", id: 7, ok: true, data: { a: 1 } },
      { type: "reply", id: 8, ok: true, data: [], raw: "raw" },
    ]);
    expect(connection.metrics).toEqual({ toolCalls: 2, toolResultBytes: 6 });
  });

  it("keeps no more calls under way than it may, and lets the others wait their turn", async () => {
    let active = 0;
    let most = 0;
    const { send, until } = open(async (request) => {
      most = Math.max(most, ++active);
      await new Promise((resolve) => setImmediate(resolve));
      active--;
      return echo(request);
    });
    send(HELLO, ...Array.from({ length: 20 }, (_, id) => call(id)));
    const replies = await until(20);
    expect(most).toBe(2);
    expect(replies.map(({ id }) => id)).toEqual([...Array(20).keys()]);
  });

  it("refuses calls past the number that a run may make", async () => {
    const { connection, send, until } = open(echo, { maxParallelCalls: 1, maxToolCalls: 2 });
    send(HELLO, call(0), call(1), call(2));
    const [, , third] = await until(3);
    expect(third?.error?.message).toContain("a program may make 2 calls (max_tool_calls)");
    expect(connection.metrics.toolCalls).toBe(2);
  });

  it("stops reading while more calls wait than it will hold", async () => {
    const { connection, sandbox, send } = open(never, { maxParallelCalls: 1, maxToolCalls: 1e9 });
    send(HELLO);
    await connection.ready;
    const frame = encodeFrame(call(1, { arguments: "x".repeat(500) }), BIG);
    let sent = 0;
    for (; sandbox.writableLength < 1_000_000 && sent < 100_000; sent++) sandbox.write(frame);
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toBeLessThan(100_000);
    expect(sandbox.writableLength).toBeGreaterThan(0);
    expect(sent - sandbox.writableLength / frame.length).toBeLessThan(MAX_QUEUED_CALLS * 2);
    // A runner whose program has failed is heard all the same.
    send({ type: "done", bytes: 9, console_bytes: 3 });
    connection.finish();
    expect(await connection.ended).toEqual({ kind: "done", lineBytes: 9, consoleBytes: 3 });
  });

  it.each([
    ["calls", MAX_QUEUED_CALLS, {}],
    ["bytes", 4, { arguments: "x".repeat(MAX_QUEUED_CALL_BYTES / 4) }],
  ])(
    "reads on until it holds the last of the %s that may wait, and again when one is answered",
    async (_what, most, rest) => {
      const answers: ((answer: CallAnswer) => void)[] = [];
      const dispatch = () => new Promise<CallAnswer>((resolve) => answers.push(resolve));
      const { connection, host, sandbox, send } = open(dispatch, { maxParallelCalls: 1, maxToolCalls: 1e9 });
      send(HELLO, call(0));
      await connection.ready;
      for (let id = 1; id < most; id++) send(call(id, rest));
      await eventually(() => expect(sandbox.writableLength).toBe(0));
      expect(host.isPaused()).toBe(false);
      send(call(most, rest));
      await eventually(() => expect(host.isPaused()).toBe(true));
      answers[0]?.({ ok: true, data: null, raw: null, bytes: 0 });
      await eventually(() => expect(host.isPaused()).toBe(false));
      connection.close();
    },
  );

  it("cancels calls in flight when it closes", async () => {
    let cancelled = false;
    const { connection, send } = open(
      (_request, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            cancelled = true;
            resolve({ ok: true, data: null, raw: null, bytes: 0 });
          });
        }),
    );
    send(HELLO, call(1));
    await connection.ready;
    await new Promise((resolve) => setImmediate(resolve));
    connection.close();
    expect(cancelled).toBe(true);
  });

  it("says so when a result is larger than a frame may be", async () => {
    const huge = "x".repeat(BIG);
    const { send, until } = open(async () => ({ ok: true, data: huge, raw: null, bytes: BIG }));
    send(HELLO, call(1));
    const [reply] = await until(1);
    expect(reply).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining("answered with too much") },
    });
  });

  it("turns a fault of the dispatcher into a failed call", async () => {
    const { send, until } = open(async () => {
      throw new Error("out of order");
    });
    send(HELLO, call(1));
    const [reply] = await until(1);
    expect(reply).toMatchObject({ ok: false, error: { message: expect.stringContaining("out of order") } });
  });

  it.each<[string, unknown[] | Buffer, string]>([
    ["a call before hello", [call(1)], "a call came before hello"],
    ["a second hello", [HELLO, HELLO], "hello was said twice"],
    ["another version", [{ ...HELLO, protocol: 99 }], "run `ptc image build`"],
    ["an unknown message", [HELLO, { type: "exec" }], "does not have the form"],
    ["a message with more in it", [{ ...HELLO, run_id: "forged" }], "does not have the form"],
    ["a frame header of 4 GB", Buffer.from([0xff, 0xff, 0xff, 0xff]), "exceeds the limit"],
    ["no JSON", Buffer.from([0, 0, 0, 1, 0x7b]), "not JSON"],
    ["nesting", Buffer.concat([Buffer.from([0, 0, 1, 0]), Buffer.alloc(256, "[")]), "nests deeper"],
  ])("ends with a violation at %s", async (_name, input, message) => {
    const { connection, sandbox, send } = open(echo);
    if (Buffer.isBuffer(input)) sandbox.write(input);
    else send(...input);
    expect(await connection.ended).toEqual({ kind: "violation", message: expect.stringContaining(message) });
  });

  it("ends when the stream does", async () => {
    const { connection, sandbox } = open(echo);
    sandbox.destroy();
    expect(await connection.ended).toEqual({ kind: "closed" });
    await expect(connection.ready).rejects.toThrow("closed its connection");
  });

  it("ends when the stream breaks with an error", async () => {
    const [host] = duplexPair();
    const connection = new SandboxConnection(host, { maxParallelCalls: 1, maxToolCalls: 1 }, echo);
    host.destroy(new Error("broken"));
    expect(await connection.ended).toEqual({ kind: "closed" });
    await expect(connection.ready).rejects.toThrow("closed its connection");
  });

  it("ends at once on a stream that has ended before", async () => {
    const [destroyed] = duplexPair();
    await once(destroyed.destroy(), "close");
    const [ended, sandbox] = duplexPair();
    sandbox.end();
    await once(ended.resume(), "end");
    for (const channel of [destroyed, ended]) {
      const connection = new SandboxConnection(channel, { maxParallelCalls: 1, maxToolCalls: 1 }, echo);
      expect(await connection.ended).toEqual({ kind: "closed" });
      await expect(connection.ready).rejects.toThrow("closed its connection");
    }
  });

  it.each([
    ["a number that is not finite", '{"type":"call","id":1,"tool":"mcp__a__b","arguments":{"n":1e400}}'],
    ["a key that stands twice", '{"type":"call","id":1,"tool":"mcp__a__b","arguments":{},"id":2}'],
    ["a trace that is not finite", '{"type":"trace","trace":{"started_ms":1e999}}'],
  ])("ends at %s, as a violation, without calling anything", async (_, json) => {
    const called: Call[] = [];
    const { connection, sandbox, send } = open(async (request) => {
      called.push(request);
      return echo(request);
    });
    send(HELLO);
    const frame = Buffer.alloc(4 + Buffer.byteLength(json));
    frame.writeUInt32BE(Buffer.byteLength(json));
    frame.write(json, 4);
    sandbox.write(frame);
    expect(await connection.ended).toMatchObject({ kind: "violation" });
    expect(called).toEqual([]);
  });
});

describe("what a sandbox emits", () => {
  const TEXT = { type: "emit", block: { type: "text", text: "a" } };

  it("is kept in order", async () => {
    const image = { type: "emit", block: { type: "image", data: "AAAA", mimeType: "image/png" } };
    const { connection, sandbox, send } = open();
    send(HELLO, TEXT, image);
    sandbox.end();
    await connection.ended;
    expect(connection.emitted).toEqual([TEXT.block, image.block]);
  });

  const block = (members: object) => ({ type: "emit", block: members });
  it.each([
    ["before hello", [TEXT]],
    ["more blocks than may be", [HELLO, ...Array.from({ length: 65 }, () => TEXT)]],
    ["more bytes than may be", [HELLO, block({ type: "text", text: "x".repeat(9_000_000) })]],
    ["a block of another kind", [HELLO, block({ type: "video", data: "AAAA" })]],
    ["members that no block has", [HELLO, block({ ...TEXT.block, _meta: {} })]],
    [
      "an address that is too long",
      [HELLO, block({ type: "resource_link", name: "a", uri: "u".repeat(3_000) })],
    ],
  ])("ends the connection when it is %s", async (_, messages) => {
    const { connection, send } = open();
    send(...messages);
    expect(await connection.ended).toMatchObject({ kind: "violation" });
  });
});

describe("the trace of a run", () => {
  const TRACE = { started_ms: 1, clock: "AAE=", events: "", complete: true };
  const trace = (rest: object = {}) => ({ type: "trace", trace: { ...TRACE, ...rest } });

  it("is the last one that came before the run was done", async () => {
    const { connection, send } = open();
    send(HELLO, trace(), trace({ clock: "AAI=" }), { type: "done", bytes: 5, console_bytes: 0 });
    expect(connection.trace).toBe(undefined);
    expect(await connection.ended).toEqual({ kind: "done", lineBytes: 5, consoleBytes: 0 });
    expect(connection.trace).toEqual({ ...TRACE, clock: "AAI=" });
  });

  it("is read when the program has reported and calls still wait", async () => {
    const { connection, send } = open();
    send(HELLO, trace());
    connection.finish();
    await connection.ready;
    await new Promise((resolve) => setImmediate(resolve));
    expect(connection.trace).toEqual(TRACE);
  });

  it.each<[string, unknown[], string]>([
    ["before hello", [trace()], "a trace came before hello"],
    ["without end", [HELLO, ...Array.from({ length: MAX_TRACES + 1 }, () => trace())], "more than"],
    [
      "of any length",
      [HELLO, trace({ clock: "A".repeat(MAX_TRACE_SERIES_CHARS + 1) })],
      "does not have the form",
    ],
    ["of other text", [HELLO, trace({ events: "<script>" })], "does not have the form"],
    ["of no time", [HELLO, trace({ started_ms: -1 })], "does not have the form"],
    ["with more in it", [HELLO, trace({ run_id: "forged" })], "does not have the form"],
  ])("cannot be one %s", async (_, messages, message) => {
    const { connection, send } = open();
    send(...messages);
    expect(await connection.ended).toEqual({ kind: "violation", message: expect.stringContaining(message) });
  });
});
