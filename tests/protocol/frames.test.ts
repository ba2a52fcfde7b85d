import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  encodeFrame,
  FrameDecoder,
  FrameError,
  LARGE_TEXT_CHARS,
  liftTexts,
  parsePayload,
  putText,
} from "../../protocol/frames.ts";

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

  it("reassemble from chunks whose bytes are overwritten by the next one, where those are kept", () => {
    const stream = Buffer.concat([encodeFrame({ a: "x".repeat(50) }, 100), encodeFrame({ b: 2 }, 100)]);
    const decoder = new FrameDecoder(100);
    const reused = Buffer.alloc(7);
    const read: string[] = [];
    for (const chunk of split(stream, reused.length)) {
      chunk.copy(reused);
      for (const payload of decoder.push(reused.subarray(0, chunk.length))) read.push(payload.toString());
      decoder.keep();
    }
    expect(read).toEqual([JSON.stringify({ a: "x".repeat(50) }), JSON.stringify({ b: 2 })]);
  });

  it.each([0, 150_000])("reassemble when they are large, with %d bytes of memory kept for them", (kept) => {
    const sizes = [100_000, 10, 65_535, 140_000, 65_536, 70_000, 200_000, 1];
    const stream = Buffer.concat(sizes.map((size, at) => encodeFrame(String(at).repeat(size), 300_000)));
    for (const pieceBytes of [1_000, 65_536, 99_999, stream.length]) {
      const decoder = new FrameDecoder(300_000, kept);
      const reused = Buffer.alloc(pieceBytes);
      const read: string[] = [];
      for (const chunk of split(stream, pieceBytes)) {
        chunk.copy(reused);
        for (const payload of decoder.push(reused.subarray(0, chunk.length))) read.push(payload.toString());
        decoder.keep();
      }
      const texts = sizes.map((size, at) => String(at).repeat(size));
      expect(read.map((text, at) => JSON.parse(text) === texts[at])).toEqual(sizes.map(() => true));
    }
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

it("refuses to encode more values than the reader takes", () => {
  expect(() => encodeFrame(Array(10).fill([]), 1_000, 10)).toThrow("holds more than 10 values");
  expect(encodeFrame(["x".repeat(100)], 1_000, 10)).toHaveLength(108);
});

describe("payloads", () => {
  it("that nest too deeply are refused without being parsed, however deep they are", () => {
    const bomb = Buffer.from("[".repeat(1_000_000));
    expect(() => parsePayload(bomb, 128)).toThrow("nests deeper than 128");
    expect(parsePayload(Buffer.from("[[1]]"), 2)).toEqual([[1]]);
  });

  it.each([
    ["broken JSON", Buffer.from("{"), "a message is not JSON"],
    ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22]), "a message is not UTF-8"],
    ["nothing", Buffer.alloc(0), "a message is not JSON"],
    ["a number that is not finite", Buffer.from('{"a":[1e400]}'), "holds a number beyond"],
    ["a key that stands twice", Buffer.from('{"id":1,"id":2}'), 'has the key "id" twice'],
  ])("of %s are refused", (_name, payload, message) => {
    expect(() => parsePayload(payload, 10)).toThrow(FrameError);
    expect(() => parsePayload(payload, 10)).toThrow(message);
  });
});

const LARGE = "x".repeat(LARGE_TEXT_CHARS);

/** JSON values in which some texts are large. */
const { value: VALUES } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<unknown>(null, 0, "", "short", LARGE, `${LARGE}\u00e9`, `${LARGE}\ud800`),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("a", "0", "__proto__", "length"), tie("value"), { noNullPrototype: true }),
  ),
}));

it("a value comes together again of what is left of it and its texts, and is not changed", () => {
  fc.assert(
    fc.property(VALUES, (value) => {
      const json = JSON.stringify(value);
      const lifted = liftTexts(JSON.parse(json));
      if (lifted === undefined) return;
      expect(lifted.texts.length).toBe(lifted.places.length);
      expect(lifted.texts.every((text) => text.length >= LARGE_TEXT_CHARS)).toBe(true);
      let whole: unknown = JSON.parse(JSON.stringify(lifted.value));
      for (const [index, text] of lifted.texts.entries())
        whole = putText(whole, lifted.places[index] ?? [], text);
      expect(JSON.stringify(whole)).toBe(json);
    }),
  );
});

it.each([
  ["itself", LARGE, [[]]],
  [
    "in members of members",
    { a: [{ text: LARGE }, LARGE] },
    [
      ["a", 0, "text"],
      ["a", 1],
    ],
  ],
  [
    "where names are those of objects' own parts",
    JSON.parse(`{"__proto__":"${LARGE}","toString":"${LARGE}"}`),
    [["toString"]],
  ],
  ["that UTF-8 cannot carry", `${LARGE}\udfff`, undefined],
  ["that are deep down", [[[[[LARGE]]]]], undefined],
  ["among many", Array(101).fill(LARGE), undefined],
  ["that are not large", [LARGE.slice(1)], undefined],
])("large texts are found: %s", (_, value, places) => {
  expect(liftTexts(value)?.places).toEqual(places);
});
