import { expect, test } from "vitest";
import { RunscSandbox } from "../../../sandbox/runsc/runsc-sandbox.ts";
import { newFolder } from "../../temporary-folder.ts";
import { keptOutput } from "../outputs.ts";

/** Holds this thread, as a busy machine does, while a sandbox goes on. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A guard that says all and closes its end, in a process that goes on for a while, as gVisor does that clears up. */
const ENDED = `printf '1\\000\\000\\000\\005claim'; printf 'x\\000\\000\\000\\007'; exec sleep 5 >/dev/null`;

test("a command to a guard that has said its last loses nothing of that", async () => {
  const { written, output } = keptOutput();
  const place = { id: "abcdef", folder: newFolder(), group: undefined };
  const sandbox = new RunscSandbox(place, ["/bin/sh", "-c", ENDED], output);
  sleep(500);
  sandbox.wake();
  sandbox.pause();
  expect(await sandbox.exited).toEqual({ code: 7 });
  expect(written.out).toBe("claim");
  await sandbox.kill();
  await sandbox.removed();
  sandbox.release();
});
