import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { GUARD_FRAMES, GUARD_WINDOW_BYTES } from "../../../protocol/guard.ts";
import { AttachedChannel } from "../../../sandbox/guard-channel.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import type { Random } from "../random.ts";

const LETTERS = [...Object.values(GUARD_FRAMES), "p", "?"];

function hostileRelay(random: Random): Buffer {
  const frames = Array.from({ length: random.between(1, 12) }, () => {
    const payload = random.bytes(random.between(0, 40));
    const header = Buffer.from([random.pick(LETTERS).charCodeAt(0), 0, 0, 0, 0]);
    header.writeUInt32BE(random.chance(0.8) ? payload.length : random.between(0, 0xffff_ffff), 1);
    return Buffer.concat([header, payload]);
  });
  return Buffer.concat(frames);
}

function take(chunks: readonly Buffer[]): { out: string; err: string; written: number } {
  const taken = { out: "", err: "", written: 0 };
  const channel = new AttachedChannel({
    onStdout: (chunk) => {
      taken.out += chunk.toString("latin1");
    },
    onStderr: (chunk) => {
      taken.err += chunk.toString("latin1");
    },
  });
  const stdin = new PassThrough();
  stdin.on("data", (chunk: Buffer) => {
    taken.written += chunk.length;
  });
  channel.open(stdin);
  for (const chunk of chunks) channel.onStdout(chunk);
  channel.end();
  return taken;
}

/** What a guard, or something in its place, writes to the container's stdout. */
export const target = fuzzTarget({
  name: "relayed-frames",
  generate: hostileRelay,
  check(input, random) {
    const whole = take([input]);
    assert.deepEqual(take(random.chunks(input)), whole, "what comes does not depend on the pieces");
    assert.ok(whole.out.length + whole.err.length <= input.length);
    assert.ok(whole.written <= GUARD_WINDOW_BYTES);
  },
});
