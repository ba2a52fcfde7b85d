import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sqlite from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { lockFile, tryLockFile } from "../../system/lock-file.ts";

const MODULE = join(import.meta.dirname, "../../system/lock-file.ts");

function lockPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "ptc-lock-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "lock");
}

/** Whether another process is given the lock. */
function isFree(path: string): boolean {
  const code = `
    import sqlite from "node:sqlite";
    import { lockFile, tryLockFile } from ${JSON.stringify(MODULE)};
    process.exit(tryLockFile(sqlite, ${JSON.stringify(path)}) === undefined ? 3 : 0);`;
  const { status } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { stdio: "ignore" });
  expect([0, 3]).toContain(status);
  return status === 0;
}

test("a lock keeps out other processes and this one, also after this one has tried for it again", () => {
  const path = lockPath();
  const release = tryLockFile(sqlite, path);
  expect(release).toBeTypeOf("function");
  expect(isFree(path)).toBe(false);
  expect(tryLockFile(sqlite, path)).toBeUndefined();
  expect(isFree(path)).toBe(false);
  release?.();
  expect(isFree(path)).toBe(true);
});

test("a lock is held until it is released, also where nothing refers to it", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const path = lockPath();
  // What lets go of it is dropped at once, as in a process whose work waits for what never comes.
  expect(tryLockFile(sqlite, path)).toBeTypeOf("function");
  for (let round = 0; round < 5; round++) {
    collect();
    await nextTurn();
  }
  expect(isFree(path)).toBe(false);
});

test("the lock of a file that was removed is not taken for that of its successor", () => {
  const path = lockPath();
  const release = tryLockFile(sqlite, path);
  rmSync(path);
  expect(isFree(path)).toBe(true);
  expect(existsSync(path)).toBe(true);
  release?.();
});

test("who waits for a lock gets it when its holder lets go, is refused when that takes too long, and may give up", async () => {
  const path = lockPath();
  const release = await lockFile(path);
  await expect(lockFile(path, { patienceMs: 20 })).rejects.toMatchObject({
    name: "LockError",
    code: "busy",
    message: `another ptc holds its lock ${path} and does not release it: end that ptc`,
  });
  await expect(lockFile(path, { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
    name: "AbortError",
  });
  const waiting = lockFile(path);
  release();
  (await waiting)();
  expect(isFree(path)).toBe(true);
});
