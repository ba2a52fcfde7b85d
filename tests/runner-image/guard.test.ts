import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GUARD_COMMANDS, GUARD_EXITS } from "../../protocol/guard.ts";

const GUARD = join(import.meta.dirname, "../../runner-image/guard.pl");
const text = readFileSync(GUARD, "utf8");

test.runIf(spawnSync("perl", ["-e", "0"]).status === 0)("the guard is free of what Perl warns of", () => {
  const { status, stderr } = spawnSync("perl", ["-wc", GUARD], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: `${GUARD} syntax OK\n` });
});

test("the guard and the host have the same names for things", () => {
  const { unattended, overdue, unheld, selfKilled } = GUARD_EXITS;
  expect(text).toContain(`= (${unattended}, ${overdue}, ${unheld}, ${selfKilled});`);
  for (const command of Object.values(GUARD_COMMANDS)) expect(text).toContain(`$_ eq '${command}'`);
});
