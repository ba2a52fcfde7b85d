import { describe, expect, it } from "vitest";
import { SeriesReader, SeriesWriter } from "../../protocol/series.ts";

function write(values: Iterable<number>): string {
  const writer = new SeriesWriter(1_000_000);
  for (const value of values) writer.push(value);
  return writer.toString();
}

// What any series and any text come to is tried by tests/fuzz/targets/series.ts.
describe("a series", () => {
  it("is short for what changes evenly, however long that is", () => {
    const writer = new SeriesWriter(64);
    for (let i = 0; i < 1_000_000; i++) writer.push(2 * i);
    expect(writer.full).toBe(false);
    expect(writer.toString().length).toBeLessThan(16);
  });

  it("takes no more bytes than it may, also of the largest numbers", () => {
    for (let maxBytes = 0; maxBytes < 100; maxBytes++) {
      const writer = new SeriesWriter(maxBytes);
      for (let i = 0; i < 20; i++) writer.push(i % 2 === 0 ? 2 ** 51 : -(2 ** 51));
      expect(Buffer.from(writer.toString(), "base64").length).toBeLessThanOrEqual(maxBytes);
    }
  });

  it("ends before a difference that is no number", () => {
    const [one, endless] = ["0201", "ffffffffffffffff01" + "01"];
    const reader = new SeriesReader(Buffer.from(one + endless + one, "hex").toString("base64"));
    expect([reader.next(), reader.next(), reader.next()]).toEqual([1, undefined, undefined]);
  });

  it.each([
    ["nothing", [], ""],
    ["zero", [0], "AAE="],
    ["a run of even steps", [5, 10, 15, -1], "CgMfAQ=="],
    ["a large number", [300], "2AQB"],
  ])("of %s has the form that is documented", (_, written, text) => {
    expect(write(written)).toBe(text);
  });
});
