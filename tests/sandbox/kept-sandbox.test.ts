import { createHmac } from "node:crypto";
import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { encodeFrame, FrameDecoder, FrameError } from "../../protocol/frames.ts";
import { GUARD_EXITS } from "../../protocol/guard.ts";
import { KeptSandbox } from "../../sandbox/kept-sandbox.ts";
import type { Sandbox, SandboxOutput } from "../../sandbox/sandbox.ts";
import { isCollected } from "../collected.ts";
import { eventually } from "../eventually.ts";

const MAX_BYTES = 10_000;
const HELLO = { type: "hello" };

/** A sandbox of a session, and its far end. It is cleared when `clearing` has resolved, but for the first time. */
function open(clearing: Promise<void> = Promise.resolve(), answer?: () => void) {
  const [outside, inside] = duplexPair();
  const told: string[] = [];
  const received: unknown[] = [];
  const printed: string[] = [];
  let output: SandboxOutput | undefined;
  const { promise: exited, resolve: settle } = Promise.withResolvers<{ code: number }>();
  const sandbox: Sandbox = {
    id: "1",
    image: "none",
    channel: outside,
    exited,
    pause: () => void told.push("pause"),
    clear() {
      told.push("clear");
      return told.includes("pause") ? clearing : Promise.resolve();
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
  let key = "";
  let mark = Buffer.alloc(0);
  /** Answers the last challenge, as the runner does. */
  const greet = () => {
    const { nonce } = received.at(-1) as { nonce: string };
    mark = createHmac("sha256", Buffer.from(key, "hex")).update(Buffer.from(nonce, "hex")).digest();
    send(HELLO);
  };
  inside.on("data", (chunk: Buffer) => {
    for (const payload of decoder.push(chunk)) {
      const message = JSON.parse(payload.toString()) as { type: string; key?: string };
      received.push(message);
      if (message.key === undefined) continue;
      key = message.key;
      (answer ?? greet)();
    }
  });
  /** A program's time in the sandbox: what comes to it. */
  const acquire = async () => {
    const own = { onStdout: (chunk: Buffer) => void printed.push(String(chunk)), onStderr() {} };
    const turn = await kept.acquire(own);
    const came: unknown[] = [];
    const frames = new FrameDecoder(MAX_BYTES);
    turn.channel.on("data", (chunk: Buffer) => {
      try {
        for (const payload of frames.push(chunk)) came.push(JSON.parse(payload.toString()));
      } catch (error) {
        came.push(error);
      }
    });
    return { turn, came };
  };
  const send = (message: object) => inside.write(encodeFrame(message, MAX_BYTES, undefined, mark));
  const sendBare = (message: object) => inside.write(encodeFrame(message, MAX_BYTES));
  /** Waits until the next program's hello is asked for. */
  const asked = () => eventually(() => expect(received.at(-1)).toMatchObject({ type: "next" }));
  const print = (text: string) => output?.onStdout(Buffer.from(text));
  return { kept, acquire, send, sendBare, greet, asked, print, told, received, printed, settle, outside };
}

test("passes on nothing that comes between programs, or before the next one's hello", async () => {
  const { acquire, send, greet, asked, print, told, received, printed } = open();
  const first = await acquire();
  send({ type: "call", id: 1 });
  print("one");
  await eventually(() => expect(first.came).toEqual([HELLO, { type: "call", id: 1 }]));
  await first.turn.dispose();
  received.length = 0;
  send({ type: "call", id: 2 });
  print("between");
  const acquiring = acquire();
  send({ type: "call", id: 3 });
  print("before hello");
  await asked();
  send({ type: "call", id: 4 });
  send(HELLO);
  greet();
  const second = await acquiring;
  print("two");
  await eventually(() => expect(second.came).toEqual([HELLO]));
  expect(printed).toEqual(["one", "two"]);
  first.turn.channel.write(encodeFrame({ type: "reply" }, MAX_BYTES), () => {});
  second.turn.channel.write(encodeFrame({ type: "program" }, MAX_BYTES));
  await eventually(() => expect(received.at(-1)).toEqual({ type: "program" }));
  expect(received).toHaveLength(2);
  // The first time, the guard takes down what the runner is before any program.
  expect(told).toEqual(["clear", "resume", "pause", "clear", "resume"]);
});

test("tells the session's key once, before any program, and asks something else each time", async () => {
  const { acquire, greet, asked, received } = open();
  await (await acquire()).turn.dispose();
  expect(received).toEqual([
    { type: "next", key: expect.stringMatching(/^[0-9a-f]{64}$/), nonce: expect.anything() },
  ]);
  const [{ nonce }] = received.splice(0) as [{ nonce: string }];
  const acquiring = acquire();
  await asked();
  expect(received).toEqual([{ type: "next", nonce: expect.not.stringMatching(nonce) }]);
  greet();
  await acquiring;
});

test("ends the program and the session when a message comes that is not the runner's", async () => {
  const { acquire, send, sendBare, kept } = open();
  const { came } = await acquire();
  send({ type: "call", id: 1 });
  sendBare({ type: "call", id: 2 });
  await eventually(() => expect(came).toHaveLength(3));
  expect(came).toEqual([HELLO, { type: "call", id: 1 }, expect.any(FrameError)]);
  expect(kept.isLost).toBe(true);
});

test("says of an image whose runner knows of no challenge that it is to be built again", async () => {
  const { acquire, sendBare, kept } = open(undefined, () => {
    sendBare(HELLO);
    sendBare(HELLO);
  });
  await expect(acquire()).rejects.toThrow("the image is older than this ptc: run `ptc image build`");
  expect(kept.isLost).toBe(true);
});

test.each([
  [
    GUARD_EXITS.leftThread,
    "because a program had left a thread running, which could have acted in the next one",
  ],
  [GUARD_EXITS.nativeCode, "because a program had loaded native code"],
])(
  "tells why the guard has ended it between programs, after which it takes no other: %i",
  async (code, why) => {
    const { acquire, kept, settle } = open(new Promise(() => {}));
    await (await acquire()).turn.dispose();
    const acquiring = acquire();
    const known = kept.settle();
    settle({ code });
    await expect(acquiring).rejects.toThrow(`the session ended ${why}`);
    await known;
    expect(kept.isLost).toBe(true);
    expect(kept.whyLost).toContain(why);
  },
);

test("has no program begin before what earlier ones have started is gone", async () => {
  const { promise: clearing, resolve: clear } = Promise.withResolvers<void>();
  const { acquire, greet, asked, told, received } = open(clearing);
  await (await acquire()).turn.dispose();
  told.length = received.length = 0;
  const acquiring = acquire();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([told, received]).toEqual([[], []]);
  clear();
  await asked();
  greet();
  await acquiring;
  expect(told).toEqual(["resume"]);
});

test("goes to no further program when it was killed or has ended", async () => {
  const killed = open();
  const { turn } = await killed.acquire();
  await turn.kill();
  await turn.dispose();
  expect([killed.kept.isLost, killed.told]).toEqual([true, ["clear", "resume", "dispose"]]);
  await expect(killed.acquire()).rejects.toMatchObject({ code: "start_failed" });
  const ended = open();
  await (await ended.acquire()).turn.dispose();
  ended.settle({ code: 0 });
  await ended.kept.lost;
  await expect(ended.acquire()).rejects.toMatchObject({ code: "start_failed" });
});

test("a sandbox of a session holds nothing of what has waited for the end of an earlier program's", async () => {
  const { acquire, greet, asked, received } = open();
  await (await acquire()).turn.dispose();
  const waitInRun = async () => {
    const run = {};
    received.length = 0;
    const acquiring = acquire();
    await asked();
    greet();
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

test("is lost to further programs as soon as it is asked to be killed", async () => {
  const { acquire, kept } = open();
  const { turn } = await acquire();
  const killing = turn.kill();
  expect(kept.isLost).toBe(true);
  await killing;
});

test("is left to its program when it is forsaken, and removed after it", async () => {
  const { acquire, kept, told, send } = open();
  const { turn, came } = await acquire();
  told.length = 0;
  kept.forsake();
  await expect(acquire()).rejects.toThrow("the session has ended");
  send({ type: "call", id: 1 });
  await eventually(() => expect(came).toEqual([HELLO, { type: "call", id: 1 }]));
  expect(told).toEqual([]);
  await turn.dispose();
  expect(told).toEqual(["dispose"]);
});

test("is removed at once when it is forsaken between programs", async () => {
  const { acquire, kept, told } = open();
  await (await acquire()).turn.dispose();
  told.length = 0;
  kept.forsake();
  expect(told).toEqual(["dispose"]);
});

test("is removed even under its program when it is closed", async () => {
  const { acquire, kept, told } = open();
  await acquire();
  told.length = 0;
  await kept.close();
  expect([kept.isLost, told]).toEqual([true, ["dispose"]]);
});

test("takes what is written to a sandbox whose channel has ended, and drops it", async () => {
  const { acquire, outside } = open();
  const { turn } = await acquire();
  outside.end();
  const failure = await new Promise((resolve) => turn.channel.write("late", resolve));
  expect(failure ?? undefined).toBeUndefined();
});
