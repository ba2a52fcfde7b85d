import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findCgroups, SandboxGroup } from "../../../sandbox/runsc/cgroups.ts";
import { newFolder } from "../../temporary-folder.ts";

const LIMITS = { memoryBytes: 512, hostTasks: 99, cpus: 1.5 };
const OWNER = "29a414fb-4026531836.29597.209391";

/** Folders that stand for mounted hierarchies: a file of the kernel's is one of theirs here. */
function mounted(version: 1 | 2): { folder: string; mounts: string } {
  const folder = newFolder();
  if (version === 2) return { folder, mounts: `cgroup2 ${folder} cgroup2 rw,nsdelegate 0 0\n` };
  const controllers = ["memory", "pids", "cpu,cpuacct"];
  for (const name of controllers) mkdirSync(join(folder, name));
  const lines = controllers.map((name) => `cgroup ${join(folder, name)} cgroup rw,relatime,${name} 0 0`);
  // A hybrid machine has the second version mounted beside the first, without controllers.
  return {
    folder,
    mounts: ["tmpfs / tmpfs rw 0 0", `cgroup2 ${newFolder()} cgroup2 rw 0 0`, ...lines].join("\n"),
  };
}

function found(version: 1 | 2) {
  const { folder, mounts } = mounted(version);
  const hierarchy = findCgroups(mounts);
  if (hierarchy.version === undefined) throw new Error(hierarchy.problem);
  expect(hierarchy.version).toBe(version);
  const group = SandboxGroup.make(hierarchy, { owner: OWNER, id: "abc123" }, LIMITS);
  const read = (path: string) => readFileSync(join(folder, path), "utf8");
  return { folder, hierarchy, group, read };
}

test("a sandbox has its limits in each hierarchy of version 1", () => {
  const { folder, group, read } = found(1);
  const own = `ptc/${OWNER}~abc123`;
  expect(read(`memory/${own}/memory.limit_in_bytes`)).toBe("512");
  expect(read(`memory/${own}/memory.memsw.limit_in_bytes`)).toBe("512");
  expect(read(`pids/${own}/pids.max`)).toBe("99");
  expect(read(`cpu,cpuacct/${own}/cpu.cfs_period_us`)).toBe("100000");
  expect(read(`cpu,cpuacct/${own}/cpu.cfs_quota_us`)).toBe("150000");
  expect(group.entrances).toEqual(
    ["memory", "pids", "cpu,cpuacct"].map((name) => join(folder, name, own, "cgroup.procs")),
  );
});

test("a sandbox has its limits in the one group of version 2, which dies as a whole", () => {
  const { folder, group, read } = found(2);
  const own = `ptc/${OWNER}~abc123`;
  expect(read("cgroup.subtree_control")).toBe("+memory +pids +cpu");
  expect(read("ptc/cgroup.subtree_control")).toBe("+memory +pids +cpu");
  expect(read(`${own}/memory.max`)).toBe("512");
  expect(read(`${own}/memory.swap.max`)).toBe("0");
  expect(read(`${own}/memory.oom.group`)).toBe("1");
  expect(read(`${own}/pids.max`)).toBe("99");
  expect(read(`${own}/cpu.max`)).toBe("150000 100000");
  expect(group.entrances).toEqual([join(folder, own, "cgroup.procs")]);
});

test("an ordinary user's groups are in the part of version 2 that systemd has handed down", () => {
  const { folder, mounts } = mounted(2);
  const part = "user.slice/user-1000.slice/user@1000.service";
  mkdirSync(join(folder, part), { recursive: true });
  const inside = `0::/${part}/app.slice/run-u7.scope\n`;
  expect(findCgroups(mounts, inside)).toMatchObject({
    version: 2,
    roots: { memory: join(folder, part, "ptc") },
  });
  expect(readFileSync(join(folder, part, "cgroup.subtree_control"), "utf8")).toBe("+memory +pids +cpu");
  const outside = "0::/user.slice/user-1000.slice/session-3.scope\n";
  expect(findCgroups(mounts, outside)).toMatchObject({ roots: { memory: join(folder, "ptc") } });
});

test.each([
  [1, "memory/", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "oom_kill 0\n"],
  [2, "", "memory.events", "low 0\noom 3\noom_kill 12\n", "oom 3\noom_kill 0\n"],
] as const)(
  "the counters of version %i say whether the memory was full",
  (version, prefix, file, full, not) => {
    const { folder, group } = found(version);
    const path = join(folder, `${prefix}ptc/${OWNER}~abc123`, file);
    expect(group.hasRunOutOfMemory()).toBe(false);
    writeFileSync(path, not);
    expect(group.hasRunOutOfMemory()).toBe(false);
    writeFileSync(path, full);
    expect(group.hasRunOutOfMemory()).toBe(true);
  },
);

test("the groups of all ptc processes are listed by owner and id, whatever else is there", () => {
  const { folder, hierarchy } = found(1);
  mkdirSync(join(folder, "memory/ptc/other~0000ff"));
  mkdirSync(join(folder, "pids/ptc/half-removed~00ff00"));
  mkdirSync(join(folder, "memory/ptc/foreign"));
  writeFileSync(join(folder, "memory/ptc/cgroup~123456"), "");
  const listed = SandboxGroup.list(hierarchy);
  expect(listed.map(({ id, owner }) => ({ id, owner }))).toEqual([
    { id: "abc123", owner: OWNER },
    { id: "0000ff", owner: "other" },
    { id: "00ff00", owner: "half-removed" },
  ]);
  expect(SandboxGroup.find(hierarchy, "0000ff")?.entrances[0]).toContain("other~0000ff");
  expect(SandboxGroup.find(hierarchy, "123456")).toBeUndefined();
});

test("a group is empty when no process is in it, and is removed as abandoned when it has been for a while", () => {
  const { folder, group } = found(2);
  const path = join(folder, `ptc/${OWNER}~abc123`);
  expect(group.isEmpty()).toBe(true);
  writeFileSync(join(path, "cgroup.procs"), "12\n");
  expect(group.isEmpty()).toBe(false);
  for (const name of readdirSync(path)) rmSync(join(path, name));
  group.removeAbandoned();
  expect(existsSync(path)).toBe(true);
  const before = new Date(Date.now() - 31_000);
  utimesSync(path, before, before);
  group.removeAbandoned();
  expect(existsSync(path)).toBe(false);
});

test("a group whose limits cannot be set leaves nothing", () => {
  const { folder, mounts } = mounted(1);
  const hierarchy = findCgroups(mounts);
  if (hierarchy.version === undefined) throw new Error(hierarchy.problem);
  rmSync(join(folder, "cpu,cpuacct/ptc"), { recursive: true });
  expect(() => SandboxGroup.make(hierarchy, { owner: OWNER, id: "abc123" }, LIMITS)).toThrow("ENOENT");
  expect(readdirSync(join(folder, "memory/ptc"))).toEqual([]);
  expect(readdirSync(join(folder, "pids/ptc"))).toEqual([]);
});

test.each([
  ["there are none", () => "tmpfs / tmpfs rw 0 0\n", "no cgroups are mounted here"],
  [
    "they cannot be written to",
    () => `cgroup2 ${join(newFolder(), "gone")}\u0000 cgroup2 rw 0 0\n`,
    "null bytes",
  ],
])("where %s no limit holds, and it is said why", (_, mounts, problem) => {
  expect(findCgroups(mounts())).toMatchObject({
    version: undefined,
    problem: expect.stringContaining(problem),
  });
});

test("a removed group is gone, and removing it again does nothing", async () => {
  const { folder, group } = found(2);
  const path = join(folder, `ptc/${OWNER}~abc123`);
  // The kernel's files go with a folder of its own; these are ordinary ones.
  for (const name of readdirSync(path)) rmSync(join(path, name));
  await group.remove();
  expect(existsSync(path)).toBe(false);
  await group.remove();
  chmodSync(folder, 0o755);
});

test("whatever still runs in a group is killed when the group is removed", async () => {
  const { folder, group } = found(2);
  const path = join(folder, `ptc/${OWNER}~abc123`);
  const left = spawn("sleep", ["600"], { stdio: "ignore" });
  await once(left, "spawn");
  writeFileSync(join(path, "cgroup.procs"), String(left.pid));
  const removed = group.remove();
  expect(await once(left, "exit")).toEqual([null, "SIGKILL"]);
  for (const name of readdirSync(path)) rmSync(join(path, name));
  await removed;
  expect(existsSync(path)).toBe(false);
});
