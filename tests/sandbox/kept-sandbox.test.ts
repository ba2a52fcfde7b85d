import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { encodeFrame, FrameDecoder } from "../../protocol/wire/frames.ts";
import { KeptSandbox } from "../../sandbox/kept-sandbox.ts";
import type { Sandbox, SandboxOutput } from "../../sandbox/sandbox.ts";
import { isCollected } from "../collected.ts";
import { eventually } from "../eventually.ts";

const MAX_BYTES = 10_000;
const HELLO = { type: "hello" };

/** A sandbox of a session, and its far end. It is cleared when `clearing` has resolved. */
function open(clearing = Promise.resolve()) {
  const [outside, inside] = duplexPair();
  const told: string[] = [];
  const received: unknown[] = [];
  const printed: string[] = [];
  let output: SandboxOutput | undefined;
  let settle = (_: { code: number }) => {};
  const exited = new Promise<{ code: number }>((resolve) => {
    settle = resolve;
  });
  const sandbox: Sandbox = {
    id: "1",
    image: "none",
    channel: outside,
    exited,
    pause: () => void told.push("pause"),
    clear() {
      told.push("clear");
      return clearing;
    },
    resume: () => void told.push("resume"),
    kill: async () => settle({ code: 137 }),
    dispose: async () => void told.push("dispose"),
  };
  const kept = new KeptSandbox({
    acquire: async (given) => {
      output = given;
      return sandbox;
    },
  });
  const decoder = new FrameDecoder(MAX_BYTES);
  inside.on("data", (chunk: Buffer) => {
    for (const payload of decoder.push(chunk)) received.push(JSON.parse(payload.toString()));
  });
  /** A program's time in the sandbox: what comes to it. */
  const acquire = async () => {
    const own = { onStdout: (chunk: Buffer) => void printed.push(String(chunk)), onStderr() {} };
    const turn = await kept.acquire(own);
    const came: unknown[] = [];
    const own_ = new FrameDecoder(MAX_BYTES);
    turn.channel.on("data", (chunk: Buffer) => {
      for (const payload of own_.push(chunk)) came.push(JSON.parse(payload.toString()));
    });
    return { turn, came };
  };
  const send = (message: object) => inside.write(encodeFrame(message, MAX_BYTES));
  const print = (text: string) => output?.onStdout(Buffer.from(text));
  return { kept, acquire, send, print, told, received, printed, settle };
}

test("passes on nothing that comes between programs, or before the next one's hello", async () => {
  const { acquire, send, print, told, received, printed } = open();
  const first = await acquire();
  send(HELLO);
  send({ type: "call", id: 1 });
  print("one");
  await eventually(() => expect(first.came).toEqual([HELLO, { type: "call", id: 1 }]));
  await first.turn.dispose();
  send({ type: "call", id: 2 });
  print("between");
  const acquiring = acquire();
  send({ type: "call", id: 3 });
  print("before hello");
  await eventually(() => expect(received).toEqual([{ type: "next" }]));
  send({ type: "call", id: 4 });
  send(HELLO);
  const second = await acquiring;
  print("two");
  await eventually(() => expect(second.came).toEqual([HELLO]));
  expect(printed).toEqual(["one", "two"]);
  first.turn.channel.write(encodeFrame({ type: "reply" }, MAX_BYTES), () => {});
  second.turn.channel.write(encodeFrame({ type: "program" }, MAX_BYTES));
  await eventually(() => expect(received.at(-1)).toEqual({ type: "program" }));
  expect(received).toHaveLength(2);
  expect(told).toEqual(["pause", "clear", "resume"]);
});

test("has no program begin before what earlier ones have started is gone", async () => {
  let clear = () => {};
  const { acquire, send, told, received } = open(
    new Promise((resolve) => {
      clear = resolve;
    }),
  );
  await (await acquire()).turn.dispose();
  const acquiring = acquire();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([told, received]).toEqual([["pause", "clear"], []]);
  clear();
  await eventually(() => expect(received).toEqual([{ type: "next" }]));
  send(HELLO);
  await acquiring;
  expect(told).toEqual(["pause", "clear", "resume"]);
});

test("is given to nobody any more when it was killed or has ended", async () => {
  const killed = open();
  const { turn } = await killed.acquire();
  await turn.kill();
  await turn.dispose();
  expect([killed.kept.isLost, killed.told]).toEqual([true, ["dispose"]]);
  await expect(killed.acquire()).rejects.toMatchObject({ code: "start_failed" });
  const ended = open();
  await (await ended.acquire()).turn.dispose();
  ended.settle({ code: 0 });
  await ended.kept.lost;
  await expect(ended.acquire()).rejects.toMatchObject({ code: "start_failed" });
});

test("a sandbox of a session holds nothing of what has waited for the end of an earlier program's", async () => {
  const { acquire, send, received } = open();
  await (await acquire()).turn.dispose();
  const waitInRun = async () => {
    const run = {};
    const acquiring = acquire();
    await eventually(() => expect(received).toEqual([{ type: "next" }]));
    send(HELLO);
    const { turn } = await acquiring;
    void turn.exited.then(() => run);
    await turn.dispose();
    return new WeakRef(run);
  };
  expect(await isCollected(await waitInRun())).toBe(true);
});

test("has a program hear that its sandbox has ended under it", async () => {
  const { acquire, settle } = open();
  const { turn } = await acquire();
  settle({ code: 137 });
  expect(await turn.exited).toEqual({ code: 137 });
});
