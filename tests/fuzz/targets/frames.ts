import assert from "node:assert/strict";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { FrameDecoder, FrameError, parsePayload } from "../../../protocol/frames.ts";
import { MAX_NESTING_DEPTH } from "../../../protocol/limits.ts";
import { SandboxMessage } from "../../../protocol/messages.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileFrames } from "../hostile/hostile-frames.ts";

const MAX_BYTES = 64 * 1024;

function decode(chunks: readonly Buffer[]): { payloads: Buffer[]; error: string | undefined } {
  const decoder = new FrameDecoder(MAX_BYTES);
  const payloads: Buffer[] = [];
  try {
    for (const chunk of chunks) payloads.push(...decoder.push(chunk));
    return { payloads, error: undefined };
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    return { payloads, error: error.message };
  }
}

/** Frames in pieces of any size, and what is in them. */
export const target = fuzzTarget({
  name: "frames",
  iterations: 1_000,
  samples: 300,
  generate: (random) => hostileFrames(random, random.between(1, 3)),
  check(input, random) {
    const byByte = decode(Array.from(input.subarray(0, 4_096), (_, at) => input.subarray(at, at + 1)));
    const whole = decode([input]);
    const inPieces = decode(random.chunks(input));
    assert.equal(inPieces.error, whole.error, "an error does not depend on the pieces");
    // What stood before a broken frame in one piece with it is lost with the stream.
    if (whole.error === undefined) assert.deepEqual(inPieces.payloads, whole.payloads);
    for (const { payloads } of [whole, inPieces]) checkPrefix(payloads, byByte.payloads);
    const read = whole.error === undefined ? whole.payloads : inPieces.payloads;
    for (const payload of read) checkPayload(payload);
  },
});

function checkPrefix(some: readonly Buffer[], others: readonly Buffer[]): void {
  const both = Math.min(some.length, others.length);
  for (let i = 0; i < both; i++)
    assert.ok(some[i]?.equals(others[i] as Buffer), `payload ${i} depends on the pieces`);
}

function checkPayload(payload: Buffer): void {
  assert.ok(payload.length > 0 && payload.length <= MAX_BYTES);
  let value: unknown;
  try {
    value = parsePayload(payload, MAX_NESTING_DEPTH);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    assert.match(error.message, /^.{1,500}$/u, "a message is one short line");
    return;
  }
  canonicalJson(value);
  SandboxMessage.safeParse(value);
}
