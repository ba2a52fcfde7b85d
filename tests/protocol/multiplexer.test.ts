import { randomBytes } from "node:crypto";
import { type Duplex, duplexPair } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_STREAMS, Multiplexer } from "../../protocol/multiplexer.ts";
import { tries } from "../tries.ts";

/** Two ends that are connected, and what the launcher's end opens at ptc's. */
function connected() {
  const [one, other] = duplexPair();
  const opened: { stream: Duplex; label: string }[] = [];
  const ends: (Error | undefined)[] = [];
  const ptc = new Multiplexer(one, {
    end: "ptc",
    onStream: (stream, label) => opened.push({ stream, label }),
    onEnd: (error) => ends.push(error),
  });
  const launcher = new Multiplexer(other, { end: "launcher", onStream() {}, onEnd() {} });
  return { ptc, launcher, opened, ends };
}

/** Reads a stream to its end. The other direction stays open, unlike with an iterator. */
function readAll(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    stream.on("end", () => resolve(Buffer.concat(chunks)));
    stream.on("close", () => reject(new Error("closed")));
  });
}

/** What ptc's end does with bytes that no launcher sends. */
async function received(bytes: Buffer) {
  const [one, other] = duplexPair();
  const opened: Duplex[] = [];
  const ended = new Promise<Error | undefined>((resolve) => {
    new Multiplexer(one, { end: "ptc", onStream: (stream) => opened.push(stream), onEnd: resolve });
  });
  other.on("error", () => {});
  other.resume();
  other.end(bytes);
  return { error: await ended, opened: opened.length };
}

function frame(letter: string, stream: number, number: number, payload = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9);
  header.write(letter, 0, "latin1");
  header.writeUInt32BE(stream, 1);
  header.writeUInt32BE(number, 5);
  return Buffer.concat([header, payload]);
}

test("a stream carries bytes in both directions, however many, and says when each direction ends", async () => {
  const { launcher, opened } = connected();
  const [up, down] = [randomBytes(3_000_000), randomBytes(2_000_000)];
  const near = launcher.open("messages");
  near.end(up);
  await expect.poll(() => opened.length).toBe(1);
  const far = opened[0]?.stream as Duplex;
  far.end(down);
  expect(await Promise.all([readAll(far), readAll(near)])).toEqual([up, down]);
  expect(opened[0]?.label).toBe("messages");
});

test("a stream that nobody reads holds up no other, and its sender waits", async () => {
  const { launcher, opened } = connected();
  const unread = launcher.open("unread");
  let isWritten = false;
  unread.write(randomBytes(10_000_000), () => {
    isWritten = true;
  });
  const near = launcher.open("read");
  const sent = randomBytes(1_000_000);
  near.end(sent);
  await expect.poll(() => opened.length).toBe(2);
  expect(await readAll(opened[1]?.stream as Duplex)).toEqual(sent);
  expect(isWritten).toBe(false);
  expect(opened[0]?.stream.readableLength).toBeLessThanOrEqual(256 * 1024);
});

test("a stream that is destroyed at one end closes at the other", async () => {
  const { launcher, opened } = connected();
  const near = launcher.open("x");
  await expect.poll(() => opened.length).toBe(1);
  opened[0]?.stream.destroy();
  await expect.poll(() => near.destroyed).toBe(true);
});

test("a further stream than may be open is reset, and the others go on", async () => {
  const { launcher, opened, ends } = connected();
  const streams = Array.from({ length: MAX_STREAMS + 1 }, () => launcher.open("x"));
  await expect.poll(() => streams.at(-1)?.destroyed).toBe(true);
  expect({ opened: opened.length, ends, first: streams[0]?.destroyed }).toEqual({
    ...{ opened: MAX_STREAMS, ends: [], first: false },
  });
});

test.each([
  ["a letter that is none", frame("z", 1, 0)],
  ["a label without end", frame("o", 1, 4_097)],
  ["more data than any window", frame("d", 1, 256 * 1024 + 1)],
  ["a number of ptc's own", frame("o", 2, 1, Buffer.from("x"))],
  [
    "a number that is in use",
    Buffer.concat([frame("o", 1, 1, Buffer.from("x")), frame("o", 1, 1, Buffer.from("x"))]),
  ],
  [
    "more data than was granted",
    Buffer.concat([
      frame("o", 1, 1, Buffer.from("x")),
      ...Array.from({ length: 5 }, () => frame("d", 1, 64 * 1024, Buffer.alloc(64 * 1024))),
    ]),
  ],
  [
    "more streams than anybody opens",
    Buffer.concat(
      Array.from({ length: 3_000 }, (_, index) => [
        frame("o", index * 2 + 1, 0),
        frame("r", index * 2 + 1, 0),
      ]).flat(),
    ),
  ],
])("%s ends the connection", async (_case, bytes) => {
  expect((await received(bytes)).error?.name).toBe("MultiplexerError");
});

test("any bytes are bounded, and end the connection at the latest with their own end", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), async (bytes) => {
      const { opened } = await received(Buffer.from(bytes));
      expect(opened).toBeLessThanOrEqual(MAX_STREAMS);
    }),
    { numRuns: tries(100) },
  );
});
