import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  GUARD_ATTACHED,
  GUARD_COMMANDS,
  GUARD_DIRECT,
  GUARD_EXITS,
  GUARD_FRAMES,
  GUARD_HEADER_BYTES,
  GUARD_SOCKETS,
  GUARD_STDIO,
  GUARD_STDIO_FILES,
  GUARD_WINDOW_BYTES,
} from "../../protocol/guard.ts";
import {
  SERVER_STDIO_FILE_NAMES,
  SOCKET_FILE_NAME,
  STDERR_FILE_NAME,
  STDOUT_FILE_NAME,
} from "../../protocol/runners.ts";

const GUARD = join(import.meta.dirname, "../../runner-image/guard.pl");
const text = readFileSync(GUARD, "utf8");

test.runIf(spawnSync("perl", ["-e", "0"]).status === 0)("the guard is free of what Perl warns of", () => {
  const { status, stderr } = spawnSync("perl", ["-wc", GUARD], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: `${GUARD} syntax OK\n` });
});

test("the guard and the host have the same names for things", () => {
  const { unattended, overdue, unheld, selfKilled, leftThread, nativeCode } = GUARD_EXITS;
  expect(text).toContain(
    `= (${unattended}, ${overdue}, ${unheld}, ${selfKilled}, ${leftThread}, ${nativeCode});`,
  );
  const { data, grant, end, stdout, stderr, exited, cleared } = GUARD_FRAMES;
  expect(cleared).toBe(GUARD_COMMANDS.clear);
  const { pause, clear, resume, start, beat } = GUARD_COMMANDS;
  const letters = [data, grant, end, stdout, stderr, exited, pause, clear, resume, start, beat];
  expect(text).toContain(`$PAUSE, $CLEAR, $RESUME, $START, $BEAT) = qw(${letters.join(" ")});`);
  expect(text).toContain(`$HEADER_BYTES = ${GUARD_HEADER_BYTES};`);
  expect(GUARD_WINDOW_BYTES).toBe(1024 * 1024);
  expect(text).toContain("$WINDOW = 1024 * 1024;");
  expect(text).toContain(`eq '${GUARD_ATTACHED}'`);
  expect(text).toContain(`eq '${GUARD_DIRECT}'`);
  expect(text).toContain(`/^${GUARD_SOCKETS}(.+)/s`);
  expect(text).toContain(`= qw(${SOCKET_FILE_NAME} ${STDOUT_FILE_NAME} ${STDERR_FILE_NAME});`);
  expect(text).toContain(`= qw(${SERVER_STDIO_FILE_NAMES.join(" ")});`);
  expect(text).toContain(`eq '${GUARD_STDIO}'`);
  expect(text).toContain(`= (${GUARD_STDIO_FILES.join(", ")});`);
});
