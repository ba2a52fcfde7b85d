import { describe, expect, it } from "vitest";
import type { EmittedBlock } from "../../protocol/emitted.ts";
import { bytesOf, makeEmit } from "../../runner-image/node/functions/emit.ts";

const PNG = Buffer.from("89504e470d0a1a0a", "hex");
const PNG_BASE64 = PNG.toString("base64");

function emitter() {
  const sent: EmittedBlock[] = [];
  return { sent, emit: makeEmit((block) => sent.push(block)) };
}

describe("emit", () => {
  it("makes blocks of texts, bytes and files", () => {
    const { sent, emit } = emitter();
    emit("done");
    emit(PNG, { mimeType: "image/png" });
    emit(new Uint8Array(PNG).buffer, { mimeType: "audio/wav" });
    emit("a,b\n", { mimeType: "text/csv", name: "a b.csv" });
    emit(PNG, { mimeType: "image/png", name: "plot.png" });
    expect(sent).toEqual([
      { type: "text", text: "done" },
      { type: "image", data: PNG_BASE64, mimeType: "image/png" },
      { type: "audio", data: PNG_BASE64, mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "emitted:///a%20b.csv", mimeType: "text/csv", text: "a,b\n" } },
      { type: "resource", resource: { uri: "emitted:///plot.png", mimeType: "image/png", blob: PNG_BASE64 } },
    ]);
  });

  it("takes what tools return, without members that are not passed on", () => {
    const { sent, emit } = emitter();
    emit([
      { type: "text", text: "a", annotations: { priority: 1 } },
      { type: "image", data: PNG_BASE64, mimeType: "image/png", _meta: {} },
      { type: "resource_link", uri: "file:///a", name: "a", size: 5 },
      { type: "resource", resource: { uri: "demo://1", text: "t", _meta: {} } },
    ]);
    expect(sent).toEqual([
      { type: "text", text: "a" },
      { type: "image", data: PNG_BASE64, mimeType: "image/png" },
      { type: "resource_link", uri: "file:///a", name: "a" },
      { type: "resource", resource: { uri: "demo://1", text: "t" } },
    ]);
  });

  it.each([
    [
      [{ a: 1 }],
      "emit takes a text, bytes with { mimeType }, or content blocks as tools return them; return other",
    ],
    [[PNG], "emit: say what the bytes are"],
    [[5], "emit takes a text"],
    [
      [{ type: "image", data: "?", mimeType: "image/png" }],
      "emit: the block's data is not what MCP has there",
    ],
    [[{ type: "image", data: PNG_BASE64, mimeType: "text/plain" }], "emit: the block's mimeType is not"],
    [[new Uint8Array(0), { mimeType: "image/png" }], "emit: there are no bytes"],
  ])("refuses %j", (args, message) => {
    const { sent, emit } = emitter();
    expect(() => emit(...(args as [unknown]))).toThrow(message);
    expect(sent).toEqual([]);
  });

  it.each<[unknown, object | undefined, EmittedBlock]>([
    ["a", { name: "a" }, { type: "resource", resource: { uri: "emitted:///a", text: "a" } }],
    [
      "a",
      { mimeType: "text/csv" },
      { type: "resource", resource: { uri: "emitted:///file", mimeType: "text/csv", text: "a" } },
    ],
    [
      PNG,
      { mimeType: "application/pdf" },
      {
        type: "resource",
        resource: { uri: "emitted:///file", mimeType: "application/pdf", blob: PNG_BASE64 },
      },
    ],
    [
      new Uint8Array([0, ...PNG, 0]).subarray(1, 9),
      { mimeType: "image/png" },
      { type: "image", data: PNG_BASE64, mimeType: "image/png" },
    ],
    [
      { type: "audio", data: PNG_BASE64, mimeType: "audio/wav" },
      undefined,
      { type: "audio", data: PNG_BASE64, mimeType: "audio/wav" },
    ],
    [
      { type: "resource", resource: { uri: "demo://1", blob: PNG_BASE64, mimeType: "image/png" } },
      undefined,
      { type: "resource", resource: { uri: "demo://1", blob: PNG_BASE64, mimeType: "image/png" } },
    ],
    [
      {
        type: "resource_link",
        uri: "file:///a",
        name: "a",
        title: "A",
        description: "An a.",
        mimeType: "text/plain",
      },
      undefined,
      {
        type: "resource_link",
        uri: "file:///a",
        name: "a",
        title: "A",
        description: "An a.",
        mimeType: "text/plain",
      },
    ],
  ])("gives the client what it says: %j, %j", (value, options, block) => {
    const { sent, emit } = emitter();
    emit(value, options);
    expect(sent).toEqual([block]);
  });

  it("sends none of several blocks of which one is none", () => {
    const { sent, emit } = emitter();
    expect(() => emit([{ type: "text", text: "a" }, 5])).toThrow(
      "return other values with globalThis.result",
    );
    expect(() => emit([{ type: "text" }])).toThrow("emit: the block's text is not what MCP has there");
    expect(() => emit({ type: "resource", resource: 5 })).toThrow(
      /^emit: the block's .+ is not what MCP has/,
    );
    expect(() => emit({ type: "video", data: PNG_BASE64 })).toThrow("emit takes a text");
    expect(sent).toEqual([]);
    emit("a", null as unknown as undefined);
    expect(sent).toEqual([{ type: "text", text: "a" }]);
  });

  it("counts what was emitted before, to the last block and byte", () => {
    const { sent, emit } = emitter();
    const frame = Buffer.byteLength(JSON.stringify({ type: "text", text: "" }));
    emit("x".repeat(8_388_608 - 2 * frame - 1));
    expect(() => emit("xx")).toThrow(/would make 8388609 bytes/);
    emit("x");
    expect(sent).toHaveLength(2);
    expect(() => emit("")).toThrow(/may emit 8388608; emit less/);
    const many = emitter();
    many.emit(Array.from({ length: 63 }, () => ({ type: "text", text: "a" })));
    expect(() => many.emit([1, 2].map(() => ({ type: "text", text: "a" })))).toThrow("may emit 64 blocks");
    many.emit("b");
    expect(many.sent).toHaveLength(64);
  });

  it("tells its bounds, and sends nothing of what exceeds them", () => {
    const { sent, emit } = emitter();
    for (let count = 0; count < 64; count++) emit("x");
    expect(() => emit("x")).toThrow("emit: a program may emit 64 blocks");
    expect(sent).toHaveLength(64);
    const large = emitter();
    expect(() => large.emit("x".repeat(9 * 1024 * 1024))).toThrow(/would make \d+ bytes .* may emit 8388608/);
    expect(large.sent).toEqual([]);
  });
});

describe("bytesOf", () => {
  it("decodes the one block that a tool returned, and resources", () => {
    const bytes = new Uint8Array(PNG);
    expect(bytesOf([{ type: "image", data: PNG_BASE64, mimeType: "image/png" }])).toEqual(bytes);
    expect(bytesOf({ type: "resource", resource: { uri: "a", blob: PNG_BASE64 } })).toEqual(bytes);
    expect(bytesOf({ contents: [{ uri: "a", text: "é" }] })).toEqual(new Uint8Array([0xc3, 0xa9]));
    expect(bytesOf({ text: "a" })).toEqual(new Uint8Array([0x61]));
    expect(bytesOf([[{ data: 5, blob: "QQ==" }]])).toEqual(new Uint8Array([0x41]));
    const own = bytesOf({ data: "QQ==" });
    expect(own.buffer.byteLength).toBe(1);
    for (const none of [
      "a",
      5,
      null,
      {},
      [],
      [{ text: "a" }, { text: "b" }],
      { resource: 5 },
      { contents: 5 },
    ])
      expect(() => bytesOf(none)).toThrow("bytesOf takes one content block with data");
  });
});
