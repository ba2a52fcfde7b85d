import { expect, test } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { ociConfiguration } from "../../../sandbox/runsc/oci-configuration.ts";
import { sandboxProfile } from "../../../sandbox/sandbox-profile.ts";

const LIMITS = { memoryMb: 500, cpus: 1.5, pids: 256 };
const profile = sandboxProfile(RUNNER_STARTS.python, LIMITS, "direct");

test("runsc is asked for all of a sandbox's profile but what a cgroup limits, and for nothing more", () => {
  const scratch = (megabytes: number) => ({
    type: "tmpfs",
    source: "tmpfs",
    options: ["rw", "nosuid", "nodev", `size=${megabytes}m`, "mode=1777"],
  });
  const none: string[] = [];
  expect(ociConfiguration(profile, { kind: "erofs", path: "/images/root.erofs" }, "/empty")).toEqual({
    ociVersion: "1.0.2",
    process: {
      terminal: false,
      user: { uid: 65_534, gid: 65_534 },
      args: [
        ...["/usr/bin/perl", "/opt/ptc/guard.pl", "90000", "--direct"],
        ...["/usr/bin/python3", "-P", "-s", "-B", "/opt/ptc/python/main.py", "--memory-mb=375"],
      ],
      env: [
        ...["HOME=/tmp", "TZ=UTC", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"],
        ...["PYTHONHASHSEED=0", "MALLOC_ARENA_MAX=1"],
      ],
      cwd: "/workspace",
      capabilities: { bounding: none, effective: none, inheritable: none, permitted: none, ambient: none },
      noNewPrivileges: true,
      rlimits: [
        { type: "RLIMIT_NPROC", soft: 32, hard: 32 },
        { type: "RLIMIT_NOFILE", soft: 1_024, hard: 1_024 },
        { type: "RLIMIT_CORE", soft: 0, hard: 0 },
      ],
    },
    root: { path: "/empty", readonly: true },
    hostname: "sandbox",
    mounts: [
      { destination: "/proc", type: "proc", source: "proc" },
      { destination: "/workspace", ...scratch(64) },
      { destination: "/tmp", ...scratch(64) },
      { destination: "/dev/shm", ...scratch(16) },
    ],
    linux: {
      namespaces: [{ type: "pid" }, { type: "mount" }, { type: "ipc" }, { type: "uts" }, { type: "network" }],
      resources: { memory: { limit: 500 * 1024 * 1024 } },
    },
    annotations: {
      "dev.gvisor.spec.rootfs.source": "/images/root.erofs",
      "dev.gvisor.spec.rootfs.type": "erofs",
    },
  });
});

test("a root that is a folder is named itself, without an annotation", () => {
  const made = ociConfiguration(profile, { kind: "folder", path: "/images/root" }, "/empty");
  expect(made.root).toEqual({ path: "/images/root", readonly: true });
  expect(made).not.toHaveProperty("annotations");
});
