import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import {
  GUARD_COMMANDS,
  GUARD_FRAMES,
  GUARD_WINDOW_BYTES,
  GuardFrameReader,
  guardFrame,
} from "../../../protocol/guard.ts";
import { relay } from "../../../runner-image/launcher/relay.ts";
import { AttachedChannel } from "../../../sandbox/guard-channel.ts";
import { keptOutput } from "../../sandbox/outputs.ts";
import { newFolder } from "../../temporary-folder.ts";

/** Both ends of a connection, until the test ends. */
async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer().listen(join(newFolder(), "s"));
  const other = connect(server.address() as string);
  const [one] = (await once(server, "connection")) as [Socket];
  server.close();
  onTestFinished(() => {
    one.destroy();
    other.destroy();
  });
  return [one, other];
}

/** A relay, and what lies at the other ends of its three streams. */
async function open() {
  const [stream, ptc] = await socketPair();
  const [channel, runner] = await socketPair();
  const [control, guard] = await socketPair();
  return { ...relay({ stream, channel, control }), ptc, runner, guard };
}

/** ptc's usual end of such a stream. */
function openChannel(ptc: Duplex) {
  const { written, output } = keptOutput();
  const channel = new AttachedChannel(output);
  ptc.on("data", (chunk: Buffer) => channel.onStdout(chunk));
  channel.open(ptc);
  return { channel, written };
}

/** The frames that arrive at an end, where nothing is granted unless the test does so. */
function framesOf(end: Duplex) {
  const marks: [letter: string, number: number][] = [];
  let payload = "";
  const reader = new GuardFrameReader({
    onMark: (letter, number) => void marks.push([letter, number]),
    onPayload: (_, piece) => {
      payload += piece.toString("latin1");
    },
  });
  end.on("data", (chunk: Buffer) => reader.read(chunk));
  return { marks, payload: () => payload };
}

/** Long enough for what must not come to come on a quiet machine. */
const aWhile = () => delay(50);

test("what ptc and the runner say to each other arrives as it was said, many windows of it in both directions", async () => {
  const { ptc, runner, drained } = await open();
  const { channel } = openChannel(ptc);
  const large = Buffer.alloc(3 * GUARD_WINDOW_BYTES + 17, "0123456789abcdef-");
  runner.write("hello");
  const duplex = await channel.connected;
  const echoed: Buffer[] = [];
  // The runner says what it hears.
  runner.pipe(runner);
  duplex.on("data", (chunk: Buffer) => echoed.push(chunk));
  duplex.write(large);
  const length = () => echoed.reduce((sum, chunk) => sum + chunk.length, 0);
  await expect.poll(length).toBe("hello".length + large.length);
  expect(Buffer.concat(echoed).equals(Buffer.concat([Buffer.from("hello"), large]))).toBe(true);
  const ended = once(duplex, "end");
  runner.destroy();
  await ended;
  await drained;
});

test("the runner is heard no further than ptc has granted", async () => {
  const { ptc, runner } = await open();
  const { payload } = framesOf(ptc);
  const sent = "x".repeat(GUARD_WINDOW_BYTES + 10);
  runner.write(sent);
  for (const [grant, heard] of [
    [0, GUARD_WINDOW_BYTES],
    [4, GUARD_WINDOW_BYTES + 4],
    [100, sent.length],
  ] as const) {
    if (grant > 0) ptc.write(guardFrame(GUARD_FRAMES.grant, grant));
    await expect.poll(() => payload().length).toBe(heard);
    await aWhile();
    expect(payload()).toBe(sent.slice(0, heard));
  }
});

test("ptc is granted what the runner was given, a quarter of a window at a time", async () => {
  const { ptc, runner } = await open();
  const { marks } = framesOf(ptc);
  let heard = 0;
  runner.on("data", (chunk: Buffer) => {
    heard += chunk.length;
  });
  const quarter = GUARD_WINDOW_BYTES / 4;
  ptc.write(guardFrame(GUARD_FRAMES.data, quarter - 1, Buffer.alloc(quarter - 1)));
  await expect.poll(() => heard).toBe(quarter - 1);
  await aWhile();
  expect(marks).toEqual([]);
  ptc.write(guardFrame(GUARD_FRAMES.data, 1, Buffer.alloc(1)));
  await expect.poll(() => marks).toEqual([[GUARD_FRAMES.grant, quarter]]);
});

test("what the guard says goes to ptc in whole frames between those of the channel, and what ptc says to the guard goes to it", async () => {
  const { ptc, runner, guard, exitCode } = await open();
  const { channel, written } = openChannel(ptc);
  const { marks } = framesOf(guard);
  // Half of a frame, and a call before the other half.
  const printed = guardFrame(GUARD_FRAMES.stdout, 6, Buffer.from("onetwo"));
  guard.write(printed.subarray(0, 8));
  await expect.poll(() => written.out).toBe("one");
  runner.write("call");
  const duplex = await channel.connected;
  guard.write(printed.subarray(8));
  guard.write(guardFrame(GUARD_FRAMES.stderr, 3, Buffer.from("err")));
  await expect.poll(() => written).toEqual({ out: "onetwo", err: "err" });
  expect(String(duplex.read())).toBe("call");
  const cleared = channel.clear();
  channel.pause();
  await expect
    .poll(() => marks.map(([letter]) => letter))
    .toEqual([GUARD_FRAMES.cleared, GUARD_COMMANDS.pause]);
  guard.write(guardFrame(GUARD_FRAMES.cleared, 0));
  await cleared;
  guard.write(guardFrame(GUARD_FRAMES.exited, 121));
  expect(await exitCode).toBe(121);
});

test("where ptc does not read, neither the channel nor the guard is read on", async () => {
  const { ptc, runner, guard } = await open();
  ptc.pause();
  const piece = Buffer.alloc(64 * 1024, "p");
  let printed = 0;
  // Far more than the buffers of three connections hold.
  const mayPrint = async () =>
    guard.write(guardFrame(GUARD_FRAMES.stdout, piece.length, piece)) || drainsSoon(guard);
  while (printed < 1_000 && (await mayPrint())) printed++;
  expect(printed).toBeLessThan(1_000);
  runner.write("x".repeat(GUARD_WINDOW_BYTES));
  await aWhile();
  expect(runner.writableLength).toBeGreaterThan(0);
  const { payload } = framesOf(ptc);
  ptc.resume();
  await expect.poll(() => payload().length).toBe((printed + 1) * piece.length + GUARD_WINDOW_BYTES);
});

async function drainsSoon(socket: Socket): Promise<boolean> {
  return Promise.race([once(socket, "drain").then(() => true), delay(500, false)]);
}
