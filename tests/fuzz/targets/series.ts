import assert from "node:assert/strict";
import { SeriesReader, SeriesWriter } from "../../../protocol/series.ts";
import { fuzzTarget } from "../fuzz-target.ts";

const MOST = 1_000;

/** A trace's series as a program may send it, and as ptc writes it. */
export const target = fuzzTarget({
  name: "series",
  generate: (random) =>
    random.chance(0.5) ? random.bytes(random.size(200)).toString("base64") : random.bytes(random.size(200)),
  check(input, random) {
    const reader = new SeriesReader(input.toString("latin1"));
    let count = 0;
    for (; count < MOST; count++) {
      const value = reader.next();
      if (value === undefined) break;
      assert.ok(Number.isInteger(value), `${value} is read`);
    }
    if (count < MOST) for (let i = 0; i < 3; i++) assert.equal(reader.next(), undefined, "an end is an end");
    const maxBytes = random.pick([0, 31, 64, 1_000]);
    const writer = new SeriesWriter(maxBytes);
    const values = Array.from(input, (byte) => (byte < 128 ? byte : byte * 2 ** random.below(40)));
    for (const value of values) writer.push(value);
    const text = writer.toString();
    assert.ok(Buffer.from(text, "base64").length <= Math.max(maxBytes, 0), "more is written than fits");
    const again = new SeriesReader(text);
    const read: number[] = [];
    for (let value = again.next(); value !== undefined; value = again.next()) read.push(value);
    assert.deepEqual(read, values.slice(0, read.length), "what is read is what was written");
    if (!writer.full) assert.equal(read.length, values.length, "something is missing");
  },
});
