import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const MODULE = JSON.stringify(join(import.meta.dirname, "../../system/compile-cache.ts"));

/** What a process that keeps what it compiles where `kept` says gives a thread, and where the two keep it. */
function threadOf(kept: string | undefined) {
  const code = `
    import module from "node:module";
    import { Worker } from "node:worker_threads";
    import { compileCacheVariable } from ${MODULE};
    const told = 'require("worker_threads").parentPort.postMessage(require("module").getCompileCacheDir())';
    const env = compileCacheVariable();
    const thread = new Worker(told, { eval: true, env, execArgv: [] });
    const own = module.getCompileCacheDir();
    thread.on("message", (threads) => console.log(JSON.stringify({ env, own, threads })));`;
  const { PATH } = process.env;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--no-warnings", "--input-type=module", "-e", code],
    {
      env: { ...(PATH !== undefined && { PATH }), ...(kept !== undefined && { NODE_COMPILE_CACHE: kept }) },
      encoding: "utf8",
    },
  );
  expect(stderr).toBe("");
  return JSON.parse(stdout) as { env: object; own?: string; threads?: string };
}

test("a thread that gets no other variable finds what the process has compiled", () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-compiled-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { env, own, threads } = threadOf(folder);
  expect(env).toEqual({ NODE_COMPILE_CACHE: folder });
  expect(own).toContain(folder);
  expect(threads).toBe(own);
});

test("a thread gets no variable where the process keeps nothing", () => {
  expect(threadOf(undefined)).toEqual({ env: {} });
});
