import { once } from "node:events";
import { type Duplex, PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { GUARD_FRAMES, GUARD_WINDOW_BYTES } from "../../protocol/guard.ts";
import { AttachedChannel, besideGuard, GuardAnswers } from "../../sandbox/guard-channel.ts";
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

test("a sandbox that has ended ends its channel, with all that came before", async () => {
  const { channel } = open();
  const duplex = await connect(channel);
  channel.end();
  channel.end();
  let text = "";
  for await (const chunk of duplex) text += String(chunk);
  expect(text).toBe("hello");
});
