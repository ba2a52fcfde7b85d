import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { encodeFrame, encodeText, FrameDecoder } from "../../../protocol/frames.ts";
import type { NextRequest } from "../../../protocol/messages.ts";
import { Channel, type Connection } from "../../../runner-image/node/channel.ts";
import { EventOrder } from "../../../runner-image/node/environment/event-order.ts";
import { ProgramScope } from "../../../runner-image/node/environment/program-scope.ts";
import { LateCallError } from "../../../runner-image/node/late-call-error.ts";

/** A channel, what it wrote (messages by write), what it passed on, and whether it keeps the process alive. */
function openChannel() {
  const decoder = new FrameDecoder(1_000_000);
  const writes: string[][] = [];
  const heard: unknown[] = [];
  const state = { isAwake: false };
  const write = (bytes: Buffer) =>
    void writes.push(decoder.push(bytes).map((each) => each.toString("latin1")));
  const connection: Connection = {
    onBytes: () => {},
    write,
    writeLast: (bytes, sent) => {
      write(bytes);
      sent();
    },
    ref: () => {
      state.isAwake = true;
    },
    unref: () => {
      state.isAwake = false;
    },
  };
  const scope = new ProgramScope();
  const channel = new Channel(
    connection,
    { order: new EventOrder(1_000), scope },
    (program) => heard.push(program),
    (next) => heard.push(next),
    () => heard.push("wake"),
  );
  const say = (...messages: (object | string)[]) =>
    connection.onBytes(
      Buffer.concat(
        messages.map((each) => (typeof each === "string" ? encodeText(each) : encodeFrame(each, 1_000_000))),
      ),
    );
  const reply = (id: number, data: unknown, more: object = {}) => ({
    type: "reply",
    id,
    ok: true,
    data,
    ...more,
  });
  return { channel, scope, say, reply, writes, heard, state };
}

const turn = () => new Promise(setImmediate);

describe("the runner's end of the channel", () => {
  it("passes on what the host says, and asks for a trace after the answers before it", async () => {
    const { channel, say, reply, heard } = openChannel();
    const answered = channel.call("a", {}, false).then(() => heard.push("answer"));
    channel.onTraceRequest = () => heard.push("trace");
    say(
      { type: "program", bundle: "b" },
      { type: "next", nonce: "ab" },
      { type: "wake" },
      { type: "trace" },
      reply(0, 1),
    );
    expect(heard).toEqual([{ type: "program", bundle: "b" }, { type: "next", nonce: "ab" }, "wake"]);
    await answered;
    await turn();
    expect(heard.slice(3).sort()).toEqual(["answer", "trace"]);
  });

  it("sends calls with what they ask for, and gives each its own answer", async () => {
    const { channel, say, reply, writes } = openChannel();
    const [first, second] = [channel.call("a", { x: 1 }, false), channel.call("b", undefined, true)];
    expect(writes.map(([text]) => JSON.parse(text ?? ""))).toEqual([
      { type: "call", id: 0, tool: "a", arguments: { x: 1 } },
      { type: "call", id: 1, tool: "b", raw: true },
    ]);
    say(reply(1, "second"), reply(7, "nobody's"), reply(0, "first"), reply(0, "again"));
    expect(await Promise.all([first, second])).toMatchObject([{ data: "first" }, { data: "second" }]);
  });

  it("keeps the process alive as long as an answer is owed, and no longer", async () => {
    const { channel, say, reply, state } = openChannel();
    channel.release();
    expect(state.isAwake).toBe(false);
    const calls = [channel.call("a", {}, false), channel.call("b", {}, false)];
    expect(state.isAwake).toBe(true);
    expect([channel.expect(1), channel.expect(2)]).toEqual([true, false]);
    say(reply(0, 1));
    await calls[0];
    expect(state.isAwake).toBe(true);
    say(reply(1, 1));
    await calls[1];
    expect(state.isAwake).toBe(false);
    channel.endProgram();
    expect(state.isAwake).toBe(true);
  });

  it("puts long texts, which come behind an answer, into their places", async () => {
    const { channel, say, reply } = openChannel();
    const calls = [channel.call("a", {}, false), channel.call("b", {}, false), channel.call("c", {}, false)];
    const texts = [["a", 0], ["b"]];
    say(
      reply(0, { a: [null, "x"], b: null }, { texts }),
      "é1",
      '{"type":"wake"}',
      reply(1, null, { texts: [[]] }),
      "whole",
    );
    say(reply(2, "short"));
    expect(await Promise.all(calls)).toMatchObject([
      { data: { a: ["é1", "x"], b: '{"type":"wake"}' } },
      { data: "whole" },
      { data: "short" },
    ]);
  });

  it("delivers each answer in a turn of its own, the first in that in which it came", async () => {
    const { channel, say, reply } = openChannel();
    const seen: string[] = [];
    for (const name of ["a", "b", "c"])
      void channel.call(name, {}, false).then(async () => {
        seen.push(name);
        for (let step = 0; step < 5; step++) await null;
        seen.push(name);
      });
    say(reply(0, 1), reply(1, 1), reply(2, 1));
    await Promise.resolve();
    await Promise.resolve();
    expect(seen[0]).toBe("a");
    await turn();
    await turn();
    expect(seen).toEqual(["a", "a", "b", "b", "c", "c"]);
  });

  it("sends a few calls at once, and further ones together, before what is sent last", async () => {
    const { channel, writes } = openChannel();
    for (let i = 0; i < 8; i++) void channel.call("a", {}, false);
    expect(writes).toHaveLength(8);
    for (let i = 0; i < 3; i++) void channel.call("a", {}, false);
    expect(writes).toHaveLength(8);
    await null;
    expect(writes.map((each) => each.length)).toEqual([...Array(8).fill(1), 3]);
    void channel.call("a", {}, false);
    let isSent = false;
    channel.sendLast([{ type: "done", bytes: 1, console_bytes: 2 }], () => {
      isSent = true;
    });
    expect(isSent).toBe(true);
    expect(writes.slice(9).map(([text]) => JSON.parse(text ?? "").type)).toEqual(["call", "done"]);
    await null;
    expect(writes).toHaveLength(11);
  });

  it("answers nobody of a program that has ended, and takes no call of one", async () => {
    const { channel, scope, say, reply, heard, writes } = openChannel();
    const late = scope.enter(true, () => {
      void channel.call("a", {}, false).then(() => heard.push("answer"));
      return () => channel.call("b", {}, false);
    });
    channel.onTraceRequest = () => heard.push("trace");
    channel.endProgram();
    scope.leave();
    say(reply(0, 1), { type: "trace" });
    await turn();
    expect(heard).toEqual([]);
    expect(late).toThrow(LateCallError);
    scope.enter(true, () => void channel.call("c", {}, false));
    expect(JSON.parse(writes.at(-1)?.[0] ?? "")).toMatchObject({ id: 0, tool: "c" });
  });

  it("begins what it sends with the answer to the host's challenge, by the key that came first", () => {
    const { channel, writes } = openChannel();
    const markOf = (nonce: string) =>
      createHmac("sha256", Buffer.from("aa".repeat(32), "hex"))
        .update(nonce, "hex")
        .digest()
        .toString("latin1");
    const wake = { type: "done", bytes: 1, console_bytes: 2 } as const;
    channel.answer({ type: "next", nonce: "00" } as NextRequest);
    channel.send(wake);
    channel.answer({ type: "next", key: "aa".repeat(32), nonce: "01" });
    channel.send(wake);
    channel.answer({ type: "next", key: "bb".repeat(32), nonce: "02" });
    channel.send(wake);
    const text = JSON.stringify(wake);
    expect(writes.flat()).toEqual([text, `${markOf("01")}${text}`, `${markOf("02")}${text}`]);
  });
});
