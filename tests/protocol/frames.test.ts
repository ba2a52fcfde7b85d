import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeFrame, FrameDecoder, FrameError, nestingDepth, parsePayload } from "../../protocol/frames.ts";

const LIMIT = 1_000;

function split(bytes: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.subarray(i, i + size));
  return chunks;
}

describe("frames", () => {
  it("reassemble from chunks of any size, in order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue(), { maxLength: 8 }),
        fc.integer({ min: 1, max: 40 }),
        (messages, size) => {
          const decoder = new FrameDecoder(100_000);
          const stream = Buffer.concat(messages.map((message) => encodeFrame(message, 100_000)));
          const payloads = split(stream, size).flatMap((chunk) => decoder.push(chunk));
          expect(payloads.map((payload) => JSON.parse(payload.toString()))).toEqual(
            messages.map((message) => JSON.parse(JSON.stringify(message))),
          );
        },
      ),
    );
  });

  it("are refused by their header alone when they are too large, before their bytes arrive", () => {
    const header = Buffer.alloc(4);
    header.writeUInt32BE(LIMIT + 1);
    expect(() => new FrameDecoder(LIMIT).push(header)).toThrow(FrameError);
  });

  it("of exactly the limit pass both ways", () => {
    const text = "x".repeat(LIMIT - 2);
    const [payload] = new FrameDecoder(LIMIT).push(encodeFrame(text, LIMIT));
    expect(JSON.parse(String(payload))).toBe(text);
    expect(() => encodeFrame(`${text}x`, LIMIT)).toThrow(FrameError);
  });

  it("that are empty are refused", () => {
    expect(() => new FrameDecoder(LIMIT).push(Buffer.alloc(4))).toThrow("empty");
  });

  it("measure bytes, not characters", () => {
    expect(() => encodeFrame("é".repeat(500), LIMIT)).toThrow(FrameError);
  });
});

describe("payloads", () => {
  it("are measured for depth as their parsed value nests", () => {
    const depthOf = (value: unknown): number =>
      typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const parsed: unknown = JSON.parse(JSON.stringify(value));
        expect(nestingDepth(Buffer.from(JSON.stringify(parsed)))).toBe(depthOf(parsed));
      }),
    );
  });

  it("that nest too deeply are refused without being parsed, however deep they are", () => {
    const bomb = Buffer.from("[".repeat(1_000_000));
    expect(() => parsePayload(bomb, 128)).toThrow("nests deeper than 128");
    expect(parsePayload(Buffer.from("[[1]]"), 2)).toEqual([[1]]);
  });

  it.each([
    ["broken JSON", Buffer.from("{")],
    ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["nothing", Buffer.alloc(0)],
  ])("of %s are refused", (_name, payload) => {
    expect(() => parsePayload(payload, 10)).toThrow("not JSON in UTF-8");
  });
});
