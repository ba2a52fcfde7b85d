import { once } from "node:events";
import { mkdirSync, statSync } from "node:fs";
import { connect as connectTo } from "node:net";
import { join } from "node:path";
import { type Duplex, PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { GUARD_FRAMES, GUARD_WINDOW_BYTES } from "../../protocol/guard.ts";
import { STDERR_FILE_NAME, STDOUT_FILE_NAME } from "../../protocol/runners.ts";
import {
  AttachedChannel,
  besideGuard,
  FramedGuard,
  GuardAnswers,
  OutputSockets,
  SocketFolder,
  SocketListener,
} from "../../sandbox/guard-channel.ts";
import { newFolder } from "../temporary-folder.ts";
import { keptOutput } from "./outputs.ts";

function frame(letter: string, number: number, payload = ""): Buffer {
  const header = Buffer.from([letter.charCodeAt(0), 0, 0, 0, 0]);
  header.writeUInt32BE(number, 1);
  return Buffer.concat([header, Buffer.from(payload, "latin1")]);
}

const carrying = (letter: string, payload: string) => frame(letter, payload.length, payload);

/** A channel, what it wrote to the sandbox, and the output of the program. */
function open() {
  const { written, output } = keptOutput();
  const channel = new AttachedChannel(output);
  const stdin = new PassThrough();
  let said = "";
  stdin.setEncoding("latin1").on("data", (text: string) => {
    said += text;
  });
  channel.open(stdin);
  return { channel, written, said: () => said };
}

/** The program's end of it. */
async function connect(channel: AttachedChannel): Promise<Duplex> {
  channel.onStdout(carrying(GUARD_FRAMES.data, "hello"));
  return channel.connected;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test.each([1, 2, 7, 1_000])(
  "what comes in pieces of %i bytes goes where it belongs, in order",
  async (step) => {
    const { channel, written } = open();
    const bytes = Buffer.concat([
      carrying(GUARD_FRAMES.stdout, "one"),
      carrying(GUARD_FRAMES.data, "call 1"),
      carrying(GUARD_FRAMES.stderr, "two"),
      carrying(GUARD_FRAMES.stdout, ""),
      carrying(GUARD_FRAMES.data, "call 2"),
      carrying(GUARD_FRAMES.stdout, "three"),
      frame(GUARD_FRAMES.end, 0),
    ]);
    for (let at = 0; at < bytes.length; at += step) channel.onStdout(bytes.subarray(at, at + step));
    let text = "";
    for await (const chunk of await channel.connected) text += String(chunk);
    expect({ ...written, text }).toEqual({ out: "onethree", err: "two", text: "call 1call 2" });
  },
);

test("no more is sent than the sandbox grants, and commands do not wait for that", async () => {
  const { channel, said } = open();
  const duplex = await connect(channel);
  const payload = "x".repeat(GUARD_WINDOW_BYTES + 10);
  let sent = false;
  duplex.write(payload, () => {
    sent = true;
  });
  channel.pause();
  await turn();
  const xs = () => said().replaceAll(/[^x]/g, "").length;
  expect([sent, xs(), said().endsWith("p\0\0\0\0")]).toEqual([false, GUARD_WINDOW_BYTES, true]);
  channel.onStdout(frame(GUARD_FRAMES.grant, 4));
  await turn();
  expect(xs()).toBe(GUARD_WINDOW_BYTES + 4);
  channel.onStdout(frame(GUARD_FRAMES.grant, 0xffff_ffff));
  await turn();
  expect({ sent, xs: xs() }).toEqual({ sent: true, xs: payload.length });
});

test("a sandbox is cleared when its guard says so", async () => {
  const { channel, said } = open();
  let cleared = 0;
  for (const clearing of [channel.clear(), channel.clear()]) void clearing.then(() => cleared++);
  await turn();
  expect([said(), cleared]).toEqual(["k\0\0\0\0k\0\0\0\0", 0]);
  for (const count of [1, 2]) {
    channel.onStdout(frame(GUARD_FRAMES.cleared, 0));
    await turn();
    expect(cleared).toBe(count);
  }
});

test("what a container itself writes is output, but for the answers that its guard owes", async () => {
  const { written, output } = keptOutput();
  const answers = new GuardAnswers();
  const beside = besideGuard(output, answers);
  beside.onStdout(Buffer.from("k"));
  beside.onStderr(Buffer.from("said"));
  expect(written).toEqual({ out: "k", err: "said" });
  let cleared = 0;
  for (const answer of [answers.next(), answers.next()]) void answer.then(() => cleared++);
  beside.onStdout(Buffer.from("kk"));
  await turn();
  expect([written.out, cleared]).toEqual(["k", 2]);
  void answers.next();
  beside.onStdout(Buffer.from("kx"));
  expect(written.out).toBe("kkx");
});

test("more is granted as the reader takes it, and not before", async () => {
  const { channel, said } = open();
  const duplex = await connect(channel);
  const half = "y".repeat(GUARD_WINDOW_BYTES / 2);
  channel.onStdout(carrying(GUARD_FRAMES.data, half));
  await turn();
  expect(said()).toBe("");
  duplex.resume();
  await turn();
  expect(said()).toBe(frame(GUARD_FRAMES.grant, half.length + "hello".length).toString("latin1"));
});

test.each([
  ["sends more than it was granted", carrying(GUARD_FRAMES.data, "z".repeat(GUARD_WINDOW_BYTES))],
  ["sends what is no frame", Buffer.from("Error: something else\n")],
])("a sandbox that %s loses its channel and its output", async (_, bytes) => {
  const { channel, written } = open();
  const duplex = await connect(channel);
  channel.onStdout(bytes);
  if (!duplex.closed) await once(duplex, "close");
  channel.onStdout(carrying(GUARD_FRAMES.stdout, "late"));
  expect(duplex.destroyed).toBe(true);
  expect(written.out).toBe("");
});

test("what a guard itself writes to its stderr is output", () => {
  const { channel, written } = open();
  channel.onStdout(carrying(GUARD_FRAMES.stderr, "of the program, "));
  channel.onStderr(Buffer.from("of the guard"));
  expect(written).toEqual({ out: "", err: "of the program, of the guard" });
});

test("what is written before the sandbox reads is sent when it does, but for commands", async () => {
  const channel = new AttachedChannel(keptOutput().output);
  const duplex = await connect(channel);
  duplex.write("early");
  channel.pause();
  await turn();
  const stdin = new PassThrough();
  channel.open(stdin);
  await turn();
  expect(String(stdin.read())).toBe(String(carrying(GUARD_FRAMES.data, "early")));
});

test.each([
  ["a piece of a channel", carrying(GUARD_FRAMES.data, "call")],
  ["a grant for a channel", frame(GUARD_FRAMES.grant, 4)],
  ["the end of a channel", frame(GUARD_FRAMES.end, 0)],
])("a guard that has no channel to relay is not heard after it sends %s", (_, bytes) => {
  const { written, output } = keptOutput();
  const guard = new FramedGuard(output);
  guard.onStdout(carrying(GUARD_FRAMES.stdout, "before"));
  guard.onStdout(Buffer.concat([bytes, carrying(GUARD_FRAMES.stdout, "behind")]));
  guard.onStdout(carrying(GUARD_FRAMES.stdout, "after"));
  expect(written).toEqual({ out: "before", err: "" });
});

test("a sandbox that has ended ends its channel, with all that came before", async () => {
  const { channel } = open();
  const duplex = await connect(channel);
  channel.end();
  channel.end();
  let text = "";
  for await (const chunk of duplex) text += String(chunk);
  expect(text).toBe("hello");
});

test("the user of a sandbox reaches its sockets, however private ptc's own files are", async () => {
  const folders = new SocketFolder(newFolder());
  const before = process.umask(0o077);
  try {
    const folder = folders.makeSocketDirectory();
    expect(folders.makeSocketDirectory()).not.toBe(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o755);
    const listener = await SocketListener.listen(folder, "broker.sock");
    expect(statSync(join(folder, "broker.sock")).mode & 0o777).toBe(0o666);
    listener.close();
  } finally {
    process.umask(before);
  }
});

test("the sockets of a runner carry its output, each from one connection, until both have ended", async () => {
  const folder = newFolder();
  const { written, output } = keptOutput();
  const sockets = await OutputSockets.listen(folder, output);
  const [stdout, stderr] = [STDOUT_FILE_NAME, STDERR_FILE_NAME].map((name) => connectTo(join(folder, name)));
  if (stdout === undefined || stderr === undefined) throw new Error("there are two");
  await Promise.all([once(stdout, "connect"), once(stderr, "connect")]);
  stdout.write("one");
  await expect.poll(() => written.out).toBe("one");
  const another = connectTo(join(folder, STDOUT_FILE_NAME));
  await once(another, "error");
  let hasEnded = false;
  const ended = sockets.ended().then(() => {
    hasEnded = true;
  });
  stdout.end("two");
  await expect.poll(() => written.out).toBe("onetwo");
  expect(hasEnded).toBe(false);
  stderr.end("three");
  await ended;
  expect(written).toEqual({ out: "onetwo", err: "three" });
});

test("a runner whose second socket cannot be made leaves none that listens", async () => {
  const folder = newFolder();
  mkdirSync(join(folder, STDERR_FILE_NAME));
  await expect(OutputSockets.listen(folder, keptOutput().output)).rejects.toThrow("EADDRINUSE");
  const late = connectTo(join(folder, STDOUT_FILE_NAME));
  const [error] = await once(late, "error");
  expect(["ENOENT", "ECONNREFUSED"]).toContain(error.code);
});
