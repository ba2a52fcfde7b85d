import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  currentProcess,
  formatIdentity,
  isDead,
  type ProcessIdentity,
  parseIdentity,
  startTimeOf,
} from "../../system/process-identity.ts";
import { StateDirectory, stateFolder, sweepProcesses } from "../../system/state-directory.ts";
import { eventually } from "../eventually.ts";

const self = currentProcess();

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "ptc-state-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A process that leads a group of its own, as an MCP server's does. */
function startServer(): ChildProcess & { pid: number } {
  const server = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
  onTestFinished(() => void server.kill("SIGKILL"));
  return Object.assign(server, { pid: server.pid ?? 0 });
}

/** The name of a process of this machine that has ended. */
async function endedProcess(): Promise<ProcessIdentity> {
  const server = startServer();
  const identity = { ...self, pid: server.pid, startTime: startTimeOf(server.pid) ?? "" };
  server.kill("SIGKILL");
  await eventually(() => expect(startTimeOf(server.pid)).toBeUndefined());
  return identity;
}

test("a process is known by more than its pid, and one of elsewhere is never taken for dead", async () => {
  const dead = await endedProcess();
  expect(parseIdentity(formatIdentity(dead))).toEqual(dead);
  expect(isDead(formatIdentity(dead), self)).toBe(true);
  expect(isDead(formatIdentity(self), self)).toBe(false);
  expect(isDead(formatIdentity({ ...self, startTime: "1" }), self)).toBe(true);
  expect(isDead(formatIdentity({ ...dead, host: "00000000-1" }), self)).toBe(false);
  expect(isDead("somebody's folder", self)).toBe(false);
});

test("several in one process have a folder each, whose servers and files are no other's", async () => {
  const base = folder();
  const [one, two] = [new StateDirectory(base, self), new StateDirectory(base, self)];
  const [first, second] = [startServer(), startServer()];
  one.groups.record(first.pid);
  two.groups.record(second.pid);
  expect(readdirSync(base).map((name) => parseIdentity(name))).toEqual([self, self]);

  one.groups.kill();
  one.remove();

  await eventually(() => expect(startTimeOf(first.pid)).toBeUndefined());
  expect(startTimeOf(second.pid)).toBeDefined();
  expect(existsSync(two.path)).toBe(true);
  const third = new StateDirectory(base, self);
  expect(third.path).not.toBe(two.path);
  sweepProcesses(base, self);
  expect(existsSync(two.path)).toBe(true);
  for (const state of [two, third]) {
    state.groups.kill();
    state.remove();
  }
  expect(readdirSync(base)).toEqual([]);
});

test("the servers of a dead ptc are ended and its folder goes; those of a live one stay", async () => {
  const base = folder();
  const [left, live, forgotten] = [startServer(), startServer(), startServer()];
  const dead = new StateDirectory(base, await endedProcess());
  dead.groups.record(left.pid);
  dead.groups.record(forgotten.pid);
  dead.groups.forget(forgotten.pid);
  mkdirSync(join(dead.path, "0123456789ab"));
  const own = new StateDirectory(base, self);
  own.groups.record(live.pid);
  writeFileSync(join(base, "somebody's file"), "");

  sweepProcesses(base, self);

  await eventually(() => expect(startTimeOf(left.pid)).toBeUndefined());
  expect([live, forgotten].map(({ pid }) => startTimeOf(pid))).not.toContain(undefined);
  expect(readdirSync(base).sort()).toEqual([formatIdentity(self), "somebody's file"].sort());
  own.remove();
  expect(existsSync(own.path)).toBe(false);
});

test("a pid that another process has by now is nobody's to end", async () => {
  const server = startServer();
  const state = new StateDirectory(folder(), self);
  writeFileSync(join(state.path, "groups", `${server.pid}-1`), "");
  writeFileSync(join(state.path, "groups", "1-1"), "");
  writeFileSync(join(state.path, "groups", "what else"), "");
  state.groups.kill();
  expect(startTimeOf(server.pid)).toBeDefined();
  state.groups.record(server.pid);
  state.groups.kill();
  await eventually(() => expect(startTimeOf(server.pid)).toBeUndefined());
});

test("the folder is where a socket's path fits, and where there is a folder", () => {
  const [long, short] = [join(folder(), "x".repeat(60)), folder()];
  mkdirSync(long);
  const parents = [long, join(short, "missing"), short];
  expect(stateFolder(parents, self)).toMatch(new RegExp(`^${short}/ptc-\\d+$`));
  expect(stateFolder([long], self)).toMatch(/^\/tmp\/ptc-\d+$/);
});
