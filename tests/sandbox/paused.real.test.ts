import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { ApprovalAnswer } from "../../broker/approvals/approvals.ts";
import { RUNNER_STARTS } from "../../languages/languages.ts";
import { GUARD_EXITS } from "../../protocol/guard.ts";
import { SOCKET_FILE_NAME, STDERR_FILE_NAME, STDOUT_FILE_NAME } from "../../protocol/runners.ts";
import { buildContainerRequest } from "../../sandbox/docker/container-profile.ts";
import { DockerEngine } from "../../sandbox/docker/docker-engine.ts";
import { SocketListener } from "../../sandbox/guard-channel.ts";
import { killFromOutside } from "./containers-of.ts";
import { describeSandboxed } from "./in-sandbox.ts";
import { RealSandboxes, useRealSandboxes } from "./real-sandboxes.ts";
import { TESTED_ENGINE } from "./tested-engine.ts";

const LIMIT_MS = 8_000;
const ALLOWED: ApprovalAnswer = { decision: "once", by: "test" };

let ticks = 0;
let answer: (signal: AbortSignal) => Promise<ApprovalAnswer>;
const options = {
  ask: ["mcp__desk__grave"],
  approver: { ask: (_: unknown, signal: AbortSignal) => answer(signal) },
};
const tools = { tick: () => ++ticks, grave: () => ({ done: true }) };

/** Waits until nothing ticks. */
async function stillness(): Promise<void> {
  for (let same = 0, seen = -1; same < 3; await delay(400)) {
    same = seen === ticks ? same + 1 : 0;
    seen = ticks;
  }
}

const MAX_ON_THEIR_WAY = 10;

/** Ticks in every way there is, before and while it asks. */
const RESTLESS = `
  import { spawn } from "node:child_process";
  import { tick, grave } from "./servers/desk/index.js";
  let asking = true;
  const child = spawn(process.execPath, ["-e", "setInterval(() => console.log(1), 20)"]);
  child.stdout.on("data", () => { if (asking) tick({}); });
  const again = async () => { while (asking) await tick({}); };
  for (let i = 0; i < 3; i++) again();
  await tick({});
  globalThis.result = await Promise.all([grave({}), grave({})]);
  asking = false;
  child.kill("SIGKILL");
`;

beforeEach(() => {
  ticks = 0;
});

describe.each(["socket", "attached"] as const)("over the channel '%s'", (channel) => {
  describeSandboxed("while a person is asked", () => {
    const run = useRealSandboxes(tools, { ...options, channel });

    test("a program does nothing, its children neither, and its time stands still; then it goes on", async () => {
      const quiet: number[] = [];
      answer = async () => {
        await stillness();
        const before = ticks;
        await delay(LIMIT_MS / 2);
        quiet.push(ticks - before);
        return ALLOWED;
      };
      const { result } = await run(RESTLESS, { limits: { timeoutMs: LIMIT_MS, maxToolCalls: 100_000 } });
      expect(result).toMatchObject({ ok: true, data: [{ done: true }, { done: true }] });
      expect(ticks).toBeGreaterThan(0);
      // Calls that were on their way may still arrive on a busy machine; a program that went on would make hundreds.
      expect(quiet).toHaveLength(2);
      expect(Math.max(...quiet)).toBeLessThanOrEqual(MAX_ON_THEIR_WAY);
    });
  });
});

describeSandboxed("while a person is asked", () => {
  const run = useRealSandboxes(tools, options);

  test("a program that was paused still runs out of time", async () => {
    answer = async () => {
      await stillness();
      return ALLOWED;
    };
    const code = "import { grave } from './servers/desk/index.js';\nawait grave({});\nfor (;;) {}";
    const { result } = await run(code, { limits: { timeoutMs: 1_500 } });
    expect(result).toMatchObject({ ok: false, error: { type: "Timeout" } });
  });

  test("a run can be cancelled, and the question is given up with it", async () => {
    const cancel = new AbortController();
    let given = false;
    answer = async (signal) => {
      await stillness();
      cancel.abort();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      given = true;
      return { decision: "denied", by: "test" };
    };
    const { result } = await run(RESTLESS, { signal: cancel.signal, limits: { maxToolCalls: 100_000 } });
    expect(result).toMatchObject({ ok: false, error: { type: "Cancelled" } });
    expect(given).toBe(true);
  });

  test("a sandbox that dies ends the run, though nobody has answered", async () => {
    const sandboxes = new RealSandboxes(tools, options);
    answer = async (signal) => {
      await stillness();
      const [id = ""] = await sandboxes.containers();
      await killFromOutside(id);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return { decision: "denied", by: "test" };
    };
    const { result } = await sandboxes.run(RESTLESS, { limits: { maxToolCalls: 100_000 } });
    const error = { type: "InternalError", message: expect.stringContaining("killed from outside") };
    expect(result).toMatchObject({ ok: false, error });
    expect(await sandboxes.leftovers()).toEqual([]);
    sandboxes.close();
  });

  test.skipIf(TESTED_ENGINE !== "docker")(
    "a container that is paused ends with the ptc that holds it",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "ptc-paused-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      chmodSync(folder, 0o755);
      const [, stdout] = await Promise.all(
        [SOCKET_FILE_NAME, STDOUT_FILE_NAME, STDERR_FILE_NAME].map((name) =>
          SocketListener.listen(folder, name),
        ),
      );
      const request = buildContainerRequest({
        image: "ptc-runner",
        runtime: "runsc",
        start: RUNNER_STARTS.javascript,
        limits: { memoryMb: 256, cpus: 1, pids: 128 },
        socketDirectory: folder,
        labels: {},
      });
      const container = await new DockerEngine().start(
        { ...request, Cmd: ["/usr/local/bin/node", "-e", "console.log(1); for (;;) {}", "--"] },
        { onStdout() {}, onStderr() {} },
      );
      await once((await stdout?.connection) as Socket, "data");
      container.pause();
      container.leave();
      expect(await container.exited).toEqual({ code: GUARD_EXITS.unattended });
    },
  );
});
