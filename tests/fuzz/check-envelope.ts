import assert from "node:assert/strict";
import { readJson, writeJson } from "../../base/json.ts";
import { renderEnvelope } from "../../execution/seal.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { Envelope } from "../../protocol/envelope.ts";

/** Throws unless an envelope is true in itself, and prints as one line that fits and says the same. Returns the line. */
export function checkEnvelope(envelope: Envelope, maxBytes: number): string {
  const line = renderEnvelope(envelope);
  assert.ok(Buffer.byteLength(line) <= maxBytes, `the line is ${Buffer.byteLength(line)} bytes`);
  assert.doesNotMatch(line, /[\p{Cc}\u2028\u2029]/u, "the line holds what ends a line, or steers");
  const read = Envelope.parse(readJson(line));
  assert.deepEqual(read, readJson(writeJson(envelope)));
  assert.match(read.run_id, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.match(read.trace_id, /^[0-9a-f]{32}$/);
  const { metrics: _, ...bare } = read.result;
  assert.equal(read.output_digest, digestOf(bare), "the digest is of something else");
  return line;
}
