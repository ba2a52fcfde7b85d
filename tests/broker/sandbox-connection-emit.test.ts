import { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import { SandboxConnection } from "../../broker/sandbox-connection.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { MAX_CALL_FRAME_BYTES, PROTOCOL_VERSION } from "../../protocol/limits.ts";

const HELLO = { type: "hello", protocol: PROTOCOL_VERSION, language: "javascript", runtime: "v24" };
const TEXT = { type: "emit", block: { type: "text", text: "a" } };

function connectTo(messages: readonly object[]) {
  const channel = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const limits = { maxParallelCalls: 1, maxToolCalls: 1 };
  const connection = new SandboxConnection(channel, limits, async () => {
    throw new Error("no call is expected");
  });
  for (const message of messages) channel.push(encodeFrame(message, MAX_CALL_FRAME_BYTES));
  channel.push(null);
  return connection;
}

describe("what a sandbox emits", () => {
  it("is kept in order", async () => {
    const image = { type: "emit", block: { type: "image", data: "AAAA", mimeType: "image/png" } };
    const connection = connectTo([HELLO, TEXT, image]);
    await connection.ended;
    expect(connection.emitted).toEqual([TEXT.block, image.block]);
  });

  it.each([
    ["before hello", [TEXT]],
    ["more blocks than may be", [HELLO, ...Array.from({ length: 65 }, () => TEXT)]],
    ["more bytes than may be", [HELLO, { ...TEXT, block: { type: "text", text: "x".repeat(9_000_000) } }]],
    ["a block of another kind", [HELLO, { type: "emit", block: { type: "video", data: "AAAA" } }]],
    ["members that no block has", [HELLO, { type: "emit", block: { ...TEXT.block, _meta: {} } }]],
    [
      "an address that is too long",
      [HELLO, { type: "emit", block: { type: "resource_link", name: "a", uri: "u".repeat(3_000) } }],
    ],
  ])("ends the connection when it is %s", async (_, messages) => {
    expect(await connectTo(messages).ended).toMatchObject({ kind: "violation" });
  });
});
