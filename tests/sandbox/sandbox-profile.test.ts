import { expect, test } from "vitest";
import { RUNNER_STARTS } from "../../languages/languages.ts";
import { buildContainerRequest } from "../../sandbox/docker/container-profile.ts";
import { sandboxProfile } from "../../sandbox/sandbox-profile.ts";

const LIMITS = { memoryMb: 500, cpus: 1.5, pids: 256 };
const MB = 1024 * 1024;

test("a sandbox is nobody in a read-only root, with no network, no rights, and bounds for all that it can use", () => {
  expect(sandboxProfile(RUNNER_STARTS.python, LIMITS, { sockets: "/of/the/host" })).toEqual({
    guard: ["/usr/bin/perl", "/opt/ptc/guard.pl", "90000", "--sockets=/run/ptc"],
    runner: ["/usr/bin/python3", "-P", "-s", "-B", "/opt/ptc/python/main.py", "--memory-mb=375"],
    environment: [
      ...["HOME=/tmp", "TZ=UTC", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"],
      ...["PYTHONHASHSEED=0", "MALLOC_ARENA_MAX=1"],
    ],
    workingDirectory: "/workspace",
    hostname: "sandbox",
    user: { uid: 65_534, gid: 65_534 },
    capabilities: [],
    mayGainPrivileges: false,
    network: "none",
    isRootReadOnly: true,
    keepsOutput: false,
    memoryBytes: 500 * MB,
    cpus: 1.5,
    hostTasks: 352,
    resourceLimits: { nproc: 32, nofile: 1_024, core: 0 },
    scratch: [
      { path: "/workspace", megabytes: 64 },
      { path: "/tmp", megabytes: 64 },
      { path: "/dev/shm", megabytes: 16 },
    ],
    mounts: [{ source: "/of/the/host", target: "/run/ptc" }],
  });
});

test.each(["attached", "direct"] as const)(
  "without a folder of sockets nothing of the host is mounted, and the guard has the channel, %s",
  (channel) => {
    const { guard, mounts } = sandboxProfile(RUNNER_STARTS.javascript, LIMITS, channel);
    expect(guard.at(-1)).toBe(`--${channel}`);
    expect(mounts).toEqual([]);
  },
);

test.each([
  [16, 16, 112],
  [64, 16, 160],
  [100, 25, 196],
  [4_096, 32, 4_192],
])(
  "of %i threads on the host a program may start %i processes, before gVisor meets its limit of %i",
  (pids, nproc, hostTasks) => {
    const profile = sandboxProfile(RUNNER_STARTS.javascript, { ...LIMITS, pids }, "direct");
    expect([profile.resourceLimits.nproc, profile.hostTasks]).toEqual([nproc, hostTasks]);
  },
);

test.each([
  [0.1, 1],
  [1, 1],
  [2.5, 3],
  [256, 4],
])(
  "for %d processors Node.js starts %d threads for V8, and never more than it usually does",
  (cpus, threads) => {
    const { runner } = sandboxProfile(RUNNER_STARTS.javascript, { ...LIMITS, cpus }, "direct");
    expect(runner).toContain(`--v8-pool-size=${threads}`);
  },
);

test("Docker is asked for all of a sandbox's profile, and for nothing more", () => {
  const request = buildContainerRequest({
    image: "sha256:1",
    runtime: "runsc",
    start: RUNNER_STARTS.javascript,
    limits: LIMITS,
    socketDirectory: "/of/the/host",
    labels: { owner: "x" },
  });
  const bind = (Source: string, Target: string) => ({ Type: "bind", Source, Target, ReadOnly: true });
  const both = (Name: string, limit: number) => ({ Name, Soft: limit, Hard: limit });
  expect(request).toEqual({
    Image: "sha256:1",
    Entrypoint: ["/usr/bin/perl", "/opt/ptc/guard.pl", "90000", "--sockets=/run/ptc"],
    Cmd: RUNNER_STARTS.javascript.command(375, LIMITS.cpus),
    Env: ["HOME=/tmp", "TZ=UTC", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", ...RUNNER_STARTS.javascript.variables],
    WorkingDir: "/workspace",
    User: "65534:65534",
    Hostname: "sandbox",
    NetworkDisabled: true,
    ...{
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      OpenStdin: true,
      StdinOnce: true,
      Tty: false,
    },
    Labels: { owner: "x" },
    HostConfig: {
      AutoRemove: true,
      Runtime: "runsc",
      NetworkMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      LogConfig: { Type: "none", Config: {} },
      Memory: 500 * MB,
      MemorySwap: 500 * MB,
      NanoCpus: 1_500_000_000,
      PidsLimit: 352,
      ShmSize: 16 * MB,
      Ulimits: [both("nproc", 32), both("nofile", 1_024), both("core", 0)],
      Tmpfs: {
        "/workspace": "rw,nosuid,nodev,size=64m,mode=1777",
        "/tmp": "rw,nosuid,nodev,size=64m,mode=1777",
        "/dev/shm": "rw,nosuid,nodev,size=16m,mode=1777",
      },
      Mounts: [bind("/of/the/host", "/run/ptc"), bind("/dev/null", "/etc/resolv.conf")],
    },
  });
});
