import { expect, test } from "vitest";
import { OnDemandSource } from "../../sandbox/on-demand-source.ts";
import { SandboxAhead } from "../../sandbox/sandbox-ahead.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import { eventually } from "../eventually.ts";
import { InProcessEngine } from "./in-process-engine.ts";

const NO_OUTPUT = { onStdout() {}, onStderr() {} };

function open() {
  const engine = new InProcessEngine();
  const limits = { memoryMb: 64, cpus: 1, pids: 32 };
  const requested: string[] = [];
  const onRequested = () => requested.push("once");
  const options = { engine, owner: "me", image: "img", runtime: "none", limits, onRequested };
  return { engine, source: new OnDemandSource(options) };
}

test("the first who asks gets the sandbox that was started ahead, and what it wrote; the next gets one of its own", async () => {
  const { engine, source } = open();
  const outputs: { onStdout(chunk: Buffer): void }[] = [];
  const ahead = new SandboxAhead({
    acquire(output, signal) {
      outputs.push(output);
      return source.acquire(output, signal);
    },
    findImage: () => source.findImage(),
  });
  await eventually(() => expect(engine.live.size).toBe(1));
  outputs[0]?.onStdout(Buffer.from("early "));
  const written: string[] = [];
  const onStdout = (chunk: Buffer) => void written.push(chunk.toString());
  const sandbox = await ahead.acquire({ ...NO_OUTPUT, onStdout });
  outputs[0]?.onStdout(Buffer.from("and late"));
  expect(sandbox.id).toBe("sandbox-1");
  expect(written.join("")).toBe("early and late");
  const next = await ahead.acquire(NO_OUTPUT);
  expect(next.id).toBe("sandbox-2");
  await ahead.close();
  expect(engine.live.size).toBe(2);
  await Promise.all([sandbox.dispose(), next.dispose()]);
});

test("a sandbox that nobody takes is removed, and one that writes too much is ended", async () => {
  const untaken = open();
  const ahead = new SandboxAhead(untaken.source);
  await eventually(() => expect(untaken.engine.live.size).toBe(1));
  await ahead.close();
  expect([...untaken.engine.released]).toEqual(["sandbox-1"]);

  const { engine, source } = open();
  let write = (_chunk: Buffer) => {};
  const loud = new SandboxAhead({
    acquire(output, signal) {
      write = output.onStdout.bind(output);
      return source.acquire(output, signal);
    },
    findImage: () => source.findImage(),
  });
  await eventually(() => expect(engine.live.size).toBe(1));
  write(Buffer.alloc(70_000));
  await eventually(() => expect(engine.live.size).toBe(0));
  await loud.close();
});

test("who asks is told why it could not be started, and cancels it by cancelling", async () => {
  const refusal = new SandboxError("image_missing", "no image");
  const refused = new SandboxAhead({
    acquire: () => Promise.reject(refusal),
    findImage: () => Promise.reject(refusal),
  });
  await expect(refused.acquire(NO_OUTPUT)).rejects.toBe(refusal);

  const { engine, source } = open();
  const cancelled = new SandboxAhead({
    acquire: (output, signal) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(new SandboxError("cancelled", "cancelled")));
        void output;
      }),
    findImage: () => source.findImage(),
  });
  await expect(cancelled.acquire(NO_OUTPUT, AbortSignal.abort())).rejects.toMatchObject({
    code: "cancelled",
  });
  expect(engine.live.size).toBe(0);
});
