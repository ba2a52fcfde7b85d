import { duplexPair } from "node:stream";
import { describe, expect, it } from "vitest";
import { WaitingSandbox } from "../../../sandbox/pool/waiting-sandbox.ts";
import type { Sandbox, SandboxOutput } from "../../../sandbox/sandbox.ts";

const { signal } = new AbortController();

/** A sandbox whose container and runner a test plays, and what becomes of it. */
function playedSandbox() {
  const [channel, runner] = duplexPair();
  const exited = Promise.withResolvers<{ code: number }>();
  const played = {
    runner,
    channel,
    disposed: 0,
    output: undefined as SandboxOutput | undefined,
    exit: exited.resolve,
  };
  const sandbox = {
    ...{ id: "1", channel, exited: exited.promise },
    dispose: async () => void played.disposed++,
  } as unknown as Sandbox;
  const source = {
    acquire: async (output: SandboxOutput) => {
      played.output = output;
      return sandbox;
    },
  };
  return { played, sandbox, start: () => WaitingSandbox.start(source, signal) };
}

const FULL = Buffer.alloc(65_536, "x");

describe("a sandbox that waits for its program", () => {
  it.each<[string, (played: ReturnType<typeof playedSandbox>["played"]) => unknown]>([
    ["writes although it has no program", ({ output }) => output?.onStdout(Buffer.concat([FULL, FULL]))],
    ["talks although it has no program", ({ runner }) => runner.write(FULL)],
    ["ended", ({ exit }) => exit({ code: 137 })],
    ["ended", ({ channel }) => channel.destroy()],
  ])("is lost when it %s, and is then given to nobody", async (what, misbehave) => {
    const { played, start } = playedSandbox();
    played.runner.write("hello");
    const waiting = await start();
    misbehave(played);
    expect(await waiting.lost).toMatchObject({
      code: "start_failed",
      message: `a sandbox that waited for its program ${what}`,
    });
    expect(waiting.take({ onStdout: () => {}, onStderr: () => {} })).toBe(false);
  });

  it("is removed when it ends before it greets", async () => {
    const { played, start } = playedSandbox();
    played.exit({ code: 1 });
    await expect(start()).rejects.toThrow("a sandbox that waited for its program ended");
    expect(played.disposed).toBe(1);
  });

  it("says with what last line on stderr it ended, without what would change a terminal", async () => {
    const { played, start } = playedSandbox();
    const started = start();
    await Promise.resolve();
    played.output?.onStderr(Buffer.from("first\nthe interpreter has failed: \x1b[2Jno mem"));
    played.output?.onStderr(Buffer.from("ory\n"));
    played.exit({ code: 70 });
    const error: unknown = await started.catch((reason: unknown) => reason);
    expect(String(error)).toMatch(/waited for its program ended: the interpreter has failed: .*no memory$/);
    expect(String(error)).not.toContain("\x1b");
  });

  it("is given once, with all that it has said and written, up to the last byte that may be held", async () => {
    const { played, sandbox, start } = playedSandbox();
    played.runner.write(FULL);
    const waiting = await start();
    played.output?.onStdout(Buffer.from("out "));
    played.output?.onStderr(FULL.subarray(8));
    played.output?.onStdout(Buffer.from("more"));
    const got: [string, number][] = [];
    const taken: SandboxOutput = {
      onStdout: (chunk) => void got.push([chunk.toString(), chunk.length]),
      onStderr: (chunk) => void got.push(["stderr", chunk.length]),
    };
    expect(waiting.take(taken)).toBe(true);
    expect(waiting.take(taken)).toBe(false);
    played.output?.onStdout(Buffer.from("later"));
    expect(got).toEqual([
      ["out ", 4],
      ["stderr", 65_528],
      ["more", 4],
      ["later", 5],
    ]);
    let said = 0;
    for (let chunk = sandbox.channel.read(); chunk !== null; chunk = sandbox.channel.read())
      said += chunk.length;
    expect(said).toBe(65_536);
    expect(played.disposed).toBe(0);
  });
});
