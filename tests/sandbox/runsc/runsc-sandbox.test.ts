import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GUARD_EXITS } from "../../../protocol/guard.ts";
import { RunscSandbox } from "../../../sandbox/runsc/runsc-sandbox.ts";
import { newFolder } from "../../temporary-folder.ts";
import { keptOutput } from "../outputs.ts";

/** A guard's frame. */
function frame(letter: string, number: number): string {
  const bytes = [24, 16, 8, 0].map((shift) => `\\${((number >>> shift) & 255).toString(8).padStart(3, "0")}`);
  return `printf '${letter}${bytes.join("")}'`;
}
const CLEARS_UP = "exec sleep 600";

function start(script: string) {
  const folder = newFolder();
  const { written, output } = keptOutput();
  const place = { id: "abcdef", folder, group: undefined };
  return {
    folder,
    written,
    sandbox: new RunscSandbox(place, ["/bin/sh", "-c", script, join(folder, "null-netns")], output),
  };
}

test("a sandbox ends with the code that its guard tells, after the output before that, and is killed instead of clearing up", async () => {
  const { sandbox, written, folder } = start(`${frame("1", 3)}; printf abc; ${frame("x", 7)}; ${CLEARS_UP}`);
  expect(await sandbox.exited).toEqual({ code: 7 });
  expect(written.out).toBe("abc");
  expect((await sandbox.outcome()).code).toBeNull();
  await sandbox.removed();
  expect(existsSync(folder)).toBe(false);
  sandbox.release();
});

test("a number that is no exit code is not taken for one", async () => {
  const { sandbox } = start(`${frame("x", 256)}; ${frame("x", 7)}; exit 3`);
  expect(await sandbox.exited).toEqual({ code: 3 });
  await sandbox.removed();
  sandbox.release();
});

test("a sandbox that is left is not killed before its guard has told why it ends", async () => {
  const { sandbox } = start(`cat <&1 >/dev/null; ${frame("x", GUARD_EXITS.leftThread)}; ${CLEARS_UP}`);
  sandbox.leave();
  expect(await sandbox.exited).toEqual({ code: GUARD_EXITS.leftThread });
  await sandbox.removed();
  sandbox.release();
});

test("a sandbox in which runsc has mounted something clears up by itself", async () => {
  const { sandbox, folder } = start(`touch "$0"; ${frame("x", 7)}; sleep 0.2; exit 7`);
  expect(await sandbox.exited).toEqual({ code: 7 });
  expect((await sandbox.outcome()).code).toBe(7);
  await sandbox.removed();
  expect(existsSync(folder)).toBe(false);
  sandbox.release();
});

test("a sandbox is connected when its runner says the first word, of which nothing is lost", async () => {
  const { sandbox } = start("head -c 1 >/dev/null; printf hello >&0; cat >/dev/null");
  expect(await Promise.race([sandbox.connected, Promise.resolve("not yet")])).toBe("not yet");
  sandbox.wake();
  const [said] = await once(await sandbox.connected, "data");
  expect(String(said)).toBe("hello");
  await sandbox.kill();
  expect(await sandbox.exited).toEqual({ code: 137 });
  sandbox.release();
});

test.each([
  ["what runsc complains of", "echo 'no such'; echo 'no such\n  platform' >&2; exit 3", "no such platform"],
  ["how runsc ended, where it says nothing", "exit 3", "runsc ended with exit code 3"],
])("a sandbox that does not start says %s", async (_, script, why) => {
  const { sandbox } = start(script);
  await expect(sandbox.connected).rejects.toMatchObject({
    code: "start_failed",
    message: `the sandbox did not start: ${why}`,
  });
  await sandbox.removed();
  sandbox.release();
});
