import { MAX_TRACE_SERIES_CHARS, PROTOCOL_VERSION } from "../../../protocol/limits.ts";
import type { Random } from "../random.ts";
import { hostileJson, hostileObject, hostileString } from "./hostile-json.ts";
import { hostileText } from "./hostile-text.ts";

/** What comes out of a sandbox on its socket: a hello at most times, and messages, a few of them broken. */
export function hostileFrames(random: Random, count: number): Buffer {
  const frames = random.list(count, () => frame(random, hostileMessage(random)));
  if (random.chance(0.8)) frames.unshift(frameOf(hello(0)(random)));
  return Buffer.concat(frames);
}

/** One frame, its length as it is. */
function frameOf(json: string): Buffer {
  const payload = Buffer.from(json);
  const header = Buffer.alloc(4);
  header.writeUInt32BE(payload.length);
  return Buffer.concat([header, payload]);
}

function frame(random: Random, json: string): Buffer {
  const whole = frameOf(json);
  if (random.chance(0.97)) return whole;
  const length = random.pick([0, 1, whole.length, whole.length - 5, 0xffff_ffff, 0x8000_0000, random.next()]);
  whole.writeUInt32BE(Math.max(0, length), 0);
  return whole;
}

const hello = (damage: number) => (random: Random) =>
  hostileObject(
    random,
    [
      ["type", '"hello"'],
      ["protocol", String(PROTOCOL_VERSION)],
      ["language", '"javascript"'],
      ["runtime", '"v24.0.0"'],
    ],
    damage,
  );

const MESSAGES: readonly ((random: Random) => string)[] = [
  call,
  call,
  call,
  trace,
  done,
  hello(0.5),
  hostileJson,
];

function hostileMessage(random: Random): string {
  return random.pick(MESSAGES)(random);
}

function call(random: Random): string {
  const tool = random.chance(0.7) ? "mcp__desk__echo" : hostileText(random, random.pick([2, 200]));
  const raw: [string, string][] = random.chance(0.2) ? [["raw", "true"]] : [];
  return hostileObject(
    random,
    [
      ["type", '"call"'],
      ["id", random.chance(0.8) ? String(random.below(50)) : hostileJson(random, { levels: 0 })],
      ["tool", hostileString(random, tool)],
      ["arguments", hostileJson(random)],
      ...raw,
    ],
    0.2,
  );
}

function trace(random: Random): string {
  const series = () => {
    if (random.chance(0.02)) return "A".repeat(MAX_TRACE_SERIES_CHARS + random.below(3));
    return random.bytes(random.size(60)).toString(random.chance(0.9) ? "base64" : "base64url");
  };
  const parts = [
    ["started_ms", random.chance(0.8) ? String(random.next()) : hostileJson(random, { levels: 0 })],
    ["clock", JSON.stringify(series())],
    ["events", JSON.stringify(series())],
    ["complete", random.pick(["true", "false"])],
  ] as const;
  return hostileObject(
    random,
    [
      ["type", '"trace"'],
      ["trace", hostileObject(random, parts, 0.2)],
    ],
    0.1,
  );
}

function done(random: Random): string {
  const bytes = () => (random.chance(0.7) ? String(random.below(100)) : hostileJson(random, { levels: 0 }));
  return hostileObject(
    random,
    [
      ["type", '"done"'],
      ["bytes", bytes()],
      ["console_bytes", bytes()],
    ],
    0.2,
  );
}
