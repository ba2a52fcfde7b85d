import type { SandboxProfile } from "../sandbox-profile.ts";

/** The root file system of a sandbox on the host: one file, or a folder. */
export type RootFileSystem = { kind: "erofs" | "folder"; path: string };

const CAPABILITY_SETS = ["bounding", "effective", "inheritable", "permitted", "ambient"] as const;
const NAMESPACES = ["pid", "mount", "ipc", "uts", "network"] as const;
/** The kernel's own file systems. gVisor provides their contents, and adds `/dev` by itself. */
const KERNEL_MOUNTS = [{ destination: "/proc", type: "proc", source: "proc" }];

/**
 * The profile of a sandbox (../sandbox-profile.ts) as an OCI runtime configuration (runtime-spec, `config.md` and
 * `config-linux.md`). A cgroup limits memory, processors and tasks; it is not part of the configuration. Pure.
 *
 * @param emptyFolder used as the root folder if the root is a file.
 */
export function ociConfiguration(profile: SandboxProfile, root: RootFileSystem, emptyFolder: string) {
  return {
    ociVersion: "1.0.2",
    process: {
      terminal: false,
      user: profile.user,
      args: [...profile.guard, ...profile.runner],
      env: [...profile.environment],
      cwd: profile.workingDirectory,
      capabilities: Object.fromEntries(CAPABILITY_SETS.map((set) => [set, profile.capabilities])),
      noNewPrivileges: !profile.mayGainPrivileges,
      rlimits: Object.entries(profile.resourceLimits).map(([name, limit]) => ({
        type: `RLIMIT_${name.toUpperCase()}`,
        soft: limit,
        hard: limit,
      })),
    },
    root: { path: root.kind === "folder" ? root.path : emptyFolder, readonly: profile.isRootReadOnly },
    hostname: profile.hostname,
    mounts: [
      ...KERNEL_MOUNTS,
      ...profile.scratch.map(({ path, megabytes, isClosed }) => ({
        destination: path,
        type: "tmpfs",
        source: "tmpfs",
        options: ["rw", "nosuid", "nodev", `size=${megabytes}m`, `mode=${isClosed ? "755" : "1777"}`],
      })),
      ...profile.mounts.map(({ source, target, isWritable }) => ({
        destination: target,
        type: "bind",
        source,
        options: ["bind", isWritable ? "rw" : "ro", "nosuid", "nodev"],
      })),
    ]
      // A folder is mounted before what is mounted in it.
      .sort((one, other) => depthOf(one.destination) - depthOf(other.destination)),
    linux: {
      namespaces: NAMESPACES.map((type) => ({ type })),
      resources: { memory: { limit: profile.memoryBytes } },
    },
    ...(root.kind === "erofs" && {
      annotations: {
        "dev.gvisor.spec.rootfs.source": root.path,
        "dev.gvisor.spec.rootfs.type": "erofs",
      },
    }),
  };
}

function depthOf(path: string): number {
  return path.split("/").length;
}
