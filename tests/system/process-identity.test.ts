import { spawn } from "node:child_process";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  commandTable,
  findProcessTable,
  formatIdentity,
  parseIdentity,
  UNKNOWN_START,
} from "../../system/process-identity.ts";

test.each([
  ["this system's", findProcessTable()],
  ["that of systems without /proc", commandTable],
])(
  "a table of processes tells a live one by the same text each time, and an ended one: %s",
  async (_, table) => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    const pid = child.pid ?? 0;
    const startTime = table.startTimeOf(pid) ?? "";
    expect(startTime).toMatch(/^[1-9]\d*$/);
    expect(table.startTimeOf(pid)).toBe(startTime);
    const identity = { host: table.hostIdentity(), pid, startTime };
    expect(parseIdentity(formatIdentity(identity))).toEqual(identity);
    expect(table.hostIdentity()).toBe(identity.host);
    child.kill("SIGKILL");
    await vi.waitFor(() => expect(table.startTimeOf(pid)).toBeUndefined());
  },
);

test("where no command tells more, a process is known to be there or not", () => {
  vi.stubEnv("PATH", "/nowhere");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(commandTable.startTimeOf(process.pid)).toBe(UNKNOWN_START);
  expect(commandTable.startTimeOf(2 ** 22 + 1)).toBeUndefined();
  expect(commandTable.hostIdentity()).toMatch(/^[0-9a-f]{8}-0$/);
});
