import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SeriesReader, SeriesWriter } from "../../protocol/series.ts";

function write(values: Iterable<number>, maxBytes = 1_000_000): SeriesWriter {
  const writer = new SeriesWriter(maxBytes);
  for (const value of values) writer.push(value);
  return writer;
}

function read(text: string, most = 100_000): number[] {
  const reader = new SeriesReader(text);
  const values: number[] = [];
  for (let value = reader.next(); value !== undefined && values.length < most; value = reader.next()) {
    values.push(value);
  }
  return values;
}

/** Repetitions and even steps, as clocks and timers make them, among arbitrary jumps. */
const values = fc
  .array(
    fc.tuple(
      fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
      fc.nat({ max: 20 }),
      fc.integer({ min: -3, max: 3 }),
    ),
  )
  .map((runs) => runs.flatMap(([from, length, step]) => Array.from({ length }, (_, i) => from + i * step)));

describe("a series", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(values, (written) => {
        expect(read(write(written).toString())).toEqual(written);
      }),
    );
  });

  it("can be looked at while it is written", () => {
    fc.assert(
      fc.property(values, values, (before, after) => {
        const writer = write(before);
        expect(read(writer.toString())).toEqual(before);
        for (const value of after) writer.push(value);
        expect(read(writer.toString())).toEqual([...before, ...after]);
      }),
    );
  });

  it("that is too long holds its beginning, and says so", () => {
    fc.assert(
      fc.property(values, fc.integer({ min: 32, max: 200 }), (written, maxBytes) => {
        const writer = write(written, maxBytes);
        const text = writer.toString();
        const kept = read(text);
        expect(Buffer.from(text, "base64").length).toBeLessThanOrEqual(maxBytes);
        expect(kept).toEqual(written.slice(0, kept.length));
        expect(writer.full).toBe(kept.length < written.length);
      }),
    );
  });

  it("is short for what changes evenly, however long that is", () => {
    const writer = new SeriesWriter(64);
    for (let i = 0; i < 1_000_000; i++) writer.push(2 * i);
    expect(writer.full).toBe(false);
    expect(writer.toString().length).toBeLessThan(16);
  });

  it("of any text at all ends, and is never expanded", () => {
    fc.assert(fc.property(fc.string(), (text) => void read(text, 1_000)));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        for (const value of read(Buffer.from(bytes).toString("base64"), 1_000)) {
          expect(Number.isNaN(value)).toBe(false);
        }
      }),
    );
  });

  it("ends before a difference that is no number", () => {
    const [one, endless] = ["0201", "ffffffffffffffff01" + "01"];
    expect(read(Buffer.from(one + endless + one, "hex").toString("base64"))).toEqual([1]);
  });

  it.each([
    ["nothing", [], ""],
    ["zero", [0], "AAE="],
    ["a run of even steps", [5, 10, 15, -1], "CgMfAQ=="],
    ["a large number", [300], "2AQB"],
  ])("of %s has the form that is documented", (_, written, text) => {
    expect(write(written).toString()).toBe(text);
  });
});
