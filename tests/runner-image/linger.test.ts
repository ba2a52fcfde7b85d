import { once } from "node:events";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { SandboxConnection } from "../../broker/sandbox-connection.ts";
import { bundleOf, missingFor, type RunnerLanguage, startRunner } from "./runner-process.ts";

const LIMITS = { maxParallelCalls: 1, maxToolCalls: 1 };
const FOREVER_MS = 24 * 60 * 60_000;
/** A runner that does not linger ends within a fraction of it, on a machine that is not busy. */
const MOMENT_MS = 500;

const TRIVIAL = { javascript: "globalThis.result = 1;", python: "result = 1" };
/** They leave a thread that has not ended. */
const WITH_THREAD = {
  javascript: `
    import { Worker } from "node:worker_threads";
    new Worker("setInterval(() => {}, 1_000)", { eval: true }).unref();
    globalThis.result = 1;`,
  python:
    "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\nresult = 1",
};

/** Has a runner run a program to its claim, and gives its process. */
async function runToClaim(language: RunnerLanguage, code: string, lingerMs?: number) {
  const runner = startRunner(language);
  onTestFinished(() => void runner.kill("SIGKILL"));
  const exited = once(runner, "exit");
  runner.stdout?.resume();
  runner.stderr?.resume();
  const connection = new SandboxConnection(runner.stdio[3] as Duplex, LIMITS, async () => {
    throw new Error("the program makes no call");
  });
  await connection.ready;
  connection.sendProgram({
    type: "program",
    bundle: await bundleOf(language, code),
    data: {},
    max_output_bytes: 1_000,
    max_stderr_bytes: 1_000,
    environment: { seed: "ab".repeat(32), time_zone: "UTC" },
    ...(lingerMs === undefined ? {} : { linger_ms: lingerMs }),
  });
  expect(await connection.ended).toMatchObject({ kind: "done" });
  return { runner, exited };
}

describe.for(["javascript", "python"] as const)("a runner of %s", (language) => {
  test.skipIf(missingFor(language) !== "")(
    `ends with its program, unless it may linger: then its sandbox is ended${missingFor(language)}`,
    async () => {
      const ending = await runToClaim(language, TRIVIAL[language]);
      expect(await ending.exited).toEqual([0, null]);

      const lingering = await runToClaim(language, TRIVIAL[language], FOREVER_MS);
      await delay(MOMENT_MS);
      expect(lingering.runner.exitCode).toBeNull();

      const short = await runToClaim(language, TRIVIAL[language], 1);
      expect(await short.exited).toEqual([0, null]);
    },
  );

  test.skipIf(missingFor(language) !== "")(
    `does not linger with a thread of the program, which would go on meanwhile${missingFor(language)}`,
    async () => {
      const { exited } = await runToClaim(language, WITH_THREAD[language], FOREVER_MS);
      expect(await exited).toEqual([0, null]);
    },
  );
});
