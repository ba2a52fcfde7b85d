import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isUnprivileged, readSentryProcess } from "../../sandbox/sentry-process.ts";
import { newFolder } from "../temporary-folder.ts";

const ID = "a".repeat(64);
const NONE = "0000000000000000";

function statusOf(uids: string, capabilities: Record<string, string> = {}): string {
  const none = { CapInh: NONE, CapPrm: NONE, CapEff: NONE, CapBnd: "000000000004001f", CapAmb: NONE };
  const sets = { ...none, ...capabilities };
  const lines = Object.entries(sets).map(([name, set]) => `${name}:\t${set}`);
  return [`Name:\texe`, `Uid:\t${uids}`, ...lines, ""].join("\n");
}

function read(command: readonly string[], status: string | undefined) {
  const proc = newFolder();
  mkdirSync(join(proc, "7"));
  writeFileSync(join(proc, "7/cmdline"), `${command.join("\0")}\0`);
  if (status !== undefined) writeFileSync(join(proc, "7/status"), status);
  return readSentryProcess(ID, 7, proc);
}

const SENTRY = ["runsc-sandbox", "--root=/r", "boot", ID];

const PROCESSES: [string, string, Record<string, string>, boolean][] = [
  ["nobody without capabilities", "65534\t65534\t65534\t65534", {}, true],
  ["root without capabilities", "0\t0\t0\t0", {}, false],
  ["somebody who can be root again", "65534\t65534\t0\t65534", {}, false],
  ["nobody with capabilities", "65534\t65534\t65534\t65534", { CapEff: "000000000008001f" }, false],
  ["nobody who may take capabilities", "65534\t65534\t65534\t65534", { CapPrm: "0000000000000001" }, false],
];

test.each(PROCESSES)("gVisor's kernel is told by its process: %s", (_, uids, capabilities, expected) => {
  const sentry = read(SENTRY, statusOf(uids, capabilities));
  expect(sentry && isUnprivileged(sentry)).toBe(expected);
});

test.each([
  ["another container's", ["runsc-sandbox", "boot", "b".repeat(64)], statusOf("0\t0\t0\t0")],
  ["not gVisor's", ["/usr/bin/perl", ID], statusOf("0\t0\t0\t0")],
  ["one that says nothing of itself", SENTRY, "Name:\texe\n"],
  ["one that has gone", SENTRY, undefined],
])("a process that cannot be recognised as a sandbox's kernel is ignored: %s", (_, command, status) => {
  expect(read(command, status)).toBeUndefined();
});
