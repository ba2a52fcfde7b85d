import { MARKS } from "./hostile/hostile-text.ts";
import { LISTS } from "./hostile/words.ts";
import type { Random } from "./random.ts";

const TOKENS = [...LISTS.tokens, ...MARKS, "[".repeat(200), "]".repeat(200), '{"a":'.repeat(150)];
const MAX_BYTES = 1024 * 1024;

/** The bytes of one input with a few changes, among them pieces of another. */
export function mutate(random: Random, input: Buffer, other: Buffer): Buffer {
  let bytes = input;
  for (let count = random.size(6); count >= 0; count--) bytes = mutateOnce(random, bytes, other);
  return bytes.length > MAX_BYTES ? bytes.subarray(0, MAX_BYTES) : bytes;
}

function mutateOnce(random: Random, bytes: Buffer, other: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + random.size(64));
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (random.below(9)) {
    case 0: {
      if (at === bytes.length) return bytes;
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] as number) ^ (1 << random.below(8));
      return copy;
    }
    case 1: {
      if (at === bytes.length) return bytes;
      const copy = Buffer.from(bytes);
      copy[at] = random.pick([0, 0xff, 0x22, 0x5c, 0x7b, 0x5b, 0x0a, 0x80, random.below(256)]);
      return copy;
    }
    case 2:
      return Buffer.concat([before, bytes.subarray(end)]);
    case 3:
      return Buffer.concat([before, bytes.subarray(at, end), after]);
    case 4:
    case 5:
      return Buffer.concat([before, Buffer.from(random.pick(TOKENS)), after]);
    case 6: {
      const from = random.below(other.length + 1);
      return Buffer.concat([before, other.subarray(from, from + random.size(200)), after]);
    }
    case 7:
      return before;
    default:
      return replaceNumber(random, bytes);
  }
}

/** Puts another number where one stands. */
function replaceNumber(random: Random, bytes: Buffer): Buffer {
  const text = bytes.toString("latin1");
  const numbers = [...text.matchAll(/-?\d+(?:\.\d+)?/g)];
  if (numbers.length === 0) return bytes;
  const found = random.pick(numbers);
  const [old] = found;
  const put = random.pick([
    "0",
    "-1",
    "1e400",
    "9007199254740991",
    "9007199254740993",
    "1.5",
    `${old}0`,
    "null",
  ]);
  return Buffer.from(text.slice(0, found.index) + put + text.slice(found.index + old.length), "latin1");
}
