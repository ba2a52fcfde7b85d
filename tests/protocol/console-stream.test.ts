import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConsoleDecoder, type ConsoleEntry, encodeConsoleEntry } from "../../protocol/console-stream.ts";

const entry = fc.record<ConsoleEntry>({
  stream: fc.constantFrom("out", "err"),
  text: fc.string({ unit: "grapheme" }),
});

describe("the console stream", () => {
  it("brings back every entry, whatever its text and however it was cut on the way", () => {
    fc.assert(
      fc.property(fc.array(entry), fc.integer({ min: 1, max: 9 }), (entries, size) => {
        const decoder = new ConsoleDecoder(100_000);
        const stream = Buffer.concat(entries.map(encodeConsoleEntry));
        const decoded: ConsoleEntry[] = [];
        for (let i = 0; i < stream.length; i += size)
          decoded.push(...decoder.push(stream.subarray(i, i + size)));
        expect([...decoded, ...decoder.end()]).toEqual(entries);
      }),
    );
  });

  it("takes what was written past the console for stderr text, and goes on", () => {
    const decoder = new ConsoleDecoder(100);
    const bytes = Buffer.concat([
      Buffer.from("raw\n"),
      encodeConsoleEntry({ stream: "out", text: "a\n" }),
      Buffer.from('\u001e["out",1]\n\u001enot json\n'),
      encodeConsoleEntry({ stream: "out", text: "b\n" }),
    ]);
    expect(decoder.push(bytes)).toEqual([
      { stream: "err", text: "raw\n", isRaw: true },
      { stream: "out", text: "a\n" },
      { stream: "err", text: '["out",1]\n', isRaw: true },
      { stream: "err", text: "not json\n", isRaw: true },
      { stream: "out", text: "b\n" },
    ]);
  });

  it("holds no more of an unfinished record than its limit", () => {
    const decoder = new ConsoleDecoder(100);
    expect(decoder.push(Buffer.from(`\u001e${"x".repeat(100)}`))).toEqual([
      { stream: "err", text: "x".repeat(100), isRaw: true },
    ]);
    expect(decoder.end()).toEqual([]);
  });

  it("gives up an unfinished record at the end as stderr text", () => {
    const decoder = new ConsoleDecoder(100);
    expect(decoder.push(Buffer.from('\u001e["out","lo'))).toEqual([]);
    expect(decoder.end()).toEqual([{ stream: "err", text: '\u001e["out","lo', isRaw: true }]);
  });
});
