import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter, LineSplitterError } from "../../base/streams.ts";

describe("lines", () => {
  it("come out whole, however the stream is cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme" })),
        fc.integer({ min: 1, max: 7 }),
        (texts, size) => {
          const lines = texts.map((text) => text.replaceAll("\n", ""));
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          const splitter = new LineSplitter(10_000);
          const out: unknown[] = [];
          for (let i = 0; i < bytes.length; i += size)
            out.push(...splitter.push(bytes.subarray(i, i + size)));
          expect(out).toEqual(lines);
        },
      ),
    );
  });

  it.each([1, 3, 1_000_000])("that are too long are told by their ends, in chunks of %i", (size) => {
    const splitter = new LineSplitter(1_000, 5_000);
    const bytes = Buffer.from(`short\n<${"x".repeat(3_000)}>\n${"y".repeat(1_000)}\n`);
    const out: unknown[] = [];
    for (let i = 0; i < bytes.length; i += size) out.push(...splitter.push(bytes.subarray(i, i + size)));
    expect(out).toEqual([
      "short",
      { bytes: 3_002, head: `<${"x".repeat(511)}`, tail: `${"x".repeat(511)}>` },
      "y".repeat(1_000),
    ]);
  });

  it("that are a little too long are told by their ends, wherever the stream is cut", () => {
    const bytes = Buffer.from(`<${"x".repeat(1_000)}>\n`);
    const tail = `${"x".repeat(511)}>`;
    for (let at = 0; at < bytes.length; at++) {
      const splitter = new LineSplitter(1_000);
      const out = [...splitter.push(bytes.subarray(0, at)), ...splitter.push(bytes.subarray(at))];
      expect(out).toEqual([{ bytes: 1_002, head: `<${"x".repeat(511)}`, tail }]);
    }
  });

  it("that never end are an error", () => {
    const splitter = new LineSplitter(1_000, 5_000);
    const chunk = Buffer.alloc(1_000, "x");
    for (let i = 0; i < 5; i++) expect(splitter.push(chunk)).toEqual([]);
    expect(() => splitter.push(chunk)).toThrow(LineSplitterError);
  });
});
