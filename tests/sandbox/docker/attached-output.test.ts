import fc from "fast-check";
import { expect, test } from "vitest";
import { AttachedOutput } from "../../../sandbox/docker/docker-engine.ts";
import { keptOutput } from "../outputs.ts";

function frame(stream: number, payload: Buffer): Buffer {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

function record() {
  const { written, output } = keptOutput();
  return { written, output: new AttachedOutput(output) };
}

test("each stream gets its own bytes in order, however they are framed and cut", () => {
  const part = fc.record({
    stream: fc.constantFrom(1, 2),
    text: fc.string({ unit: "binary-ascii", maxLength: 40 }),
  });
  fc.assert(
    fc.property(fc.array(part), fc.integer({ min: 1, max: 30 }), (parts, step) => {
      const bytes = Buffer.concat(
        parts.map(({ stream, text }) => frame(stream, Buffer.from(text, "latin1"))),
      );
      const { written, output } = record();
      for (let at = 0; at < bytes.length; at += step) output.push(bytes.subarray(at, at + step));
      const all = (wanted: number) =>
        parts.flatMap(({ stream, text }) => (stream === wanted ? [text] : [])).join("");
      expect(written).toEqual({ out: all(1), err: all(2) });
    }),
  );
});

test("a container that writes single bytes without end costs neither the stack nor ever more time", () => {
  const { written, output } = record();
  const one = frame(2, Buffer.from("x"));
  const chunk = Buffer.concat(Array.from({ length: 100_000 }, () => one));
  output.push(chunk);
  expect(written.err).toHaveLength(100_000);
});

test("what is neither stdout nor stderr is passed over", () => {
  const { written, output } = record();
  output.push(
    Buffer.concat([frame(0, Buffer.from("in")), frame(7, Buffer.from("?")), frame(1, Buffer.from("out"))]),
  );
  expect(written).toEqual({ out: "out", err: "" });
});
