import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test.each([
  ["soak", ["--restart-docker"], "Option '--restart-docker <value>' argument missing"],
  ["soak", ["--runs", "many"], "--runs takes a whole number from 0 on, not 'many'"],
  ["soak", ["--in-flight", "0"], "--in-flight takes a whole number from 1 on, not '0'"],
  ["fuzz", ["--nonsense"], "Unknown option '--nonsense'"],
  ["fuzz", ["--seed=-1"], "--seed takes a whole number from 0 on, not '-1'"],
])("%s says what is wrong with %j and how it is used, and does nothing", (script, flags, message) => {
  const path = join(import.meta.dirname, script, "run.ts");
  const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...flags], { encoding: "utf8" });
  expect(status).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).toMatch(new RegExp(`^${script}: `));
  expect(stderr.split("\n")[0]).toContain(message);
  expect(stderr).toContain(`npm run ${script}`);
  expect(stderr).not.toMatch(/^ +at .+:\d+/m);
});
