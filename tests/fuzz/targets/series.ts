import assert from "node:assert/strict";
import { SeriesReader, SeriesWriter } from "../../../protocol/series.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import type { Random } from "../random.ts";

const MOST = 1_000;

/** A trace's series as a program may send it, and as ptc writes it: what is written is read, and what is too long is a beginning. */
export const target = fuzzTarget({
  name: "series",
  iterations: 670,
  samples: 400,
  generate: (random) =>
    random.chance(0.5) ? random.bytes(random.size(200)).toString("base64") : random.bytes(random.size(200)),
  check(input, random) {
    const reader = new SeriesReader(input.toString("latin1"));
    const foreign = readAll(reader);
    assert.ok(foreign.every(Number.isInteger), "what is read is a number");
    if (foreign.length < MOST)
      for (let i = 0; i < 3; i++) assert.equal(reader.next(), undefined, "an end is an end");
    const maxBytes = random.pick([0, 31, 1_000, random.between(32, 100)]);
    const writer = new SeriesWriter(maxBytes);
    const values = valuesOf(input, random);
    const middle = random.below(values.length + 1);
    for (const [index, value] of values.entries()) {
      if (index === middle) checkWritten(writer, values.slice(0, index), maxBytes);
      writer.push(value);
    }
    checkWritten(writer, values, maxBytes);
  },
});

/** Arbitrary jumps, and even steps as clocks and timers make them. */
function valuesOf(input: Buffer, random: Random): number[] {
  return Array.from(input.subarray(0, 100)).flatMap((byte) => {
    const from = (byte < 128 ? byte : -byte) * 2 ** random.below(45);
    const step = random.between(-3, 3);
    return Array.from({ length: random.between(1, 20) }, (_, i) => from + i * step);
  });
}

/** Also while more is to be written. */
function checkWritten(writer: SeriesWriter, values: readonly number[], maxBytes: number): void {
  const text = writer.toString();
  assert.ok(Buffer.from(text, "base64").length <= maxBytes, "more is written than fits");
  const read = readAll(new SeriesReader(text), Number.POSITIVE_INFINITY);
  assert.deepEqual(read, values.slice(0, read.length), "what is read is what was written");
  assert.equal(writer.full, read.length < values.length, "it says whether something is missing");
}

function readAll(reader: SeriesReader, most = MOST): number[] {
  const values: number[] = [];
  for (let value = reader.next(); value !== undefined; value = reader.next()) {
    values.push(value);
    if (values.length === most) break;
  }
  return values;
}
