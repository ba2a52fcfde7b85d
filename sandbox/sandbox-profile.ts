/**
 * The wall, whatever engine builds it: the isolation of every sandbox as one pure value, and the list of what it prevents.
 *
 * An engine translates the whole value into its own terms: docker/container-profile.ts turns it into a request to the Docker Engine
 * API; `process`, `root`, `mounts` and `linux` of an OCI runtime configuration have a place for each field. Nothing else determines
 * the isolation. An engine adds nothing that a program could see or use, and starts no sandbox if it cannot translate a field. walls/
 * tests each wall from inside, and the engine has advice for a wall that does not hold.
 */

import { GUARD_ATTACHED, GUARD_DIRECT, GUARD_SOCKETS, GUARD_STDIO } from "../protocol/guard.ts";
import { GUARD_PATH, type RunnerStart, SANDBOX_SOCKET_DIRECTORY, WORKSPACE } from "../protocol/runners.ts";
import { SERVER_FOLDER, SERVER_LAUNCHER_PATH } from "../protocol/server-launch.ts";

/** The limits of a sandbox that a user may configure. */
export interface SandboxLimits {
  memoryMb: number;
  cpus: number;
  /** Threads on the host for the program's own processes and threads. */
  pids: number;
}

/** Something of the host that is mounted into a sandbox. */
export interface Mount {
  /** The host's path. */
  source: string;
  /** The path inside. */
  target: string;
  /** Whether the sandbox may write there. */
  isWritable?: boolean | undefined;
}

/** What the sandbox of a server has, where it differs from that of a program. */
export interface ServerWalls {
  mounts: readonly Mount[];
  /** The size of `/tmp`, and of the working directory. */
  scratchMb: number;
  /** Folders inside that are covered by empty ones. */
  hidden: readonly string[];
}

/** How one sandbox is isolated. Paths are inside the sandbox unless they are said to be the host's. */
export interface SandboxProfile {
  /** The first process, which starts `runner`, and ends the sandbox when ptc's end of its stdin is closed. */
  guard: readonly string[];
  /** The command line of the language's runner. */
  runner: readonly string[];
  /** All variables of the environment, each `NAME=value`. */
  environment: readonly string[];
  workingDirectory: string;
  hostname: string;
  user: { uid: number; gid: number };
  capabilities: readonly [];
  /** Whether a program may gain rights from a file (`no_new_privs` of prctl(2)). */
  mayGainPrivileges: false;
  /** Not even name servers: `/etc/resolv.conf` is an empty file, even if an engine would copy the host's. */
  network: "none";
  isRootReadOnly: true;
  /** Whether a sandbox's output is stored anywhere. */
  keepsOutput: false;
  /** There is no swap in addition. */
  memoryBytes: number;
  cpus: number;
  /** Tasks on the host, gVisor's own included. */
  hostTasks: number;
  /** By the names of getrlimit(2); soft and hard limits are equal. */
  resourceLimits: Readonly<Record<"nproc" | "nofile" | "core", number>>;
  /** Folders in memory, without devices and set-user-ID files. Everybody may write there, unless one is closed. */
  scratch: readonly { path: string; megabytes: number; isClosed?: boolean }[];
  /** All that is mounted of the host. Programs have nothing of it that is writable. */
  mounts: readonly Mount[];
}

/** User and group of every process in a sandbox: nobody. */
export const NOBODY = 65_534;
const PERL = "/usr/bin/perl";
/** The longest life of a sandbox, even if ptc hangs: the longest time limit of a program, and an hour of waiting for one. */
const MAX_LIFETIME_S = 25 * 60 * 60;
/** The sizes of a sandbox's writable folders. */
export const SCRATCH_MB = { WORKSPACE_MB: 64, TMP_MB: 64 };
const SHM_MB = 16;
export const SCRATCH: SandboxProfile["scratch"] = [
  { path: WORKSPACE, megabytes: SCRATCH_MB.WORKSPACE_MB },
  { path: "/tmp", megabytes: SCRATCH_MB.TMP_MB },
  { path: "/dev/shm", megabytes: SHM_MB },
];
/**
 * Tasks on the host that gVisor needs for itself: 28 to 44 threads when idle, and about 60 on a busy machine while many
 * processes start. At the host's limit the whole sandbox dies without a message, so the program must reach its own limit
 * first, which fails with EAGAIN. Each process or thread of the program takes up to four tasks on the host, and Node.js
 * starts with eleven threads.
 */
const GVISOR_TASKS = 96;
const HOST_TASKS_PER_TASK = 4;
const MIN_TASKS = 16;
const MAX_TASKS = 32;
export const MAX_OPEN_FILES = 1_024;
/** The share of the memory for a program's values, so that a leak ends with an error of its language, not with a kill. */
const HEAP_SHARE = 0.75;

/**
 * How the program reaches ptc: over sockets in a folder of the host that contains nothing else, over the guard's stdin and stdout, or
 * over a socket that the guard passes on.
 */
export type ProfileChannel = { sockets: string } | "attached" | "direct";

/** The longest life of a server's sandbox: a server is used as long as ptc runs. */
const MAX_SERVER_LIFETIME_S = 366 * 24 * 60 * 60;
/** Processes and threads of a server and its launcher. Each Node.js has eleven threads or more. */
const SERVER_TASKS = 128;
/** A server may have one process for each of its tasks, which takes more tasks on the host than a thread. */
const HOST_TASKS_PER_PROCESS = 12;
const MAX_SERVER_FILES = 4_096;

/** How the launcher of a server is started, which is the runner of its sandbox. */
const SERVER_LAUNCHER: RunnerStart = {
  command: () => ["/usr/local/bin/node", "--max-old-space-size=64", SERVER_LAUNCHER_PATH],
  variables: [],
  freshness: "",
};

/**
 * Decides how the sandbox of a server is isolated: as that of a program, with what the server needs besides. Its mounts are in a
 * folder of their own, in memory, because a root file system that is one file can have no mount points added. Pure.
 */
export function serverProfile(
  limits: SandboxLimits,
  channel: ProfileChannel,
  { mounts, scratchMb, hidden }: ServerWalls,
): SandboxProfile {
  const profile = sandboxProfile(SERVER_LAUNCHER, limits, channel);
  const [perl = "", guard = "", , ...rest] = profile.guard;
  return {
    ...profile,
    guard: [
      ...[perl, guard, String(MAX_SERVER_LIFETIME_S), ...rest],
      ...(channel === "attached" ? [] : [GUARD_STDIO]),
    ],
    hostTasks: SERVER_TASKS * HOST_TASKS_PER_PROCESS + GVISOR_TASKS,
    resourceLimits: { nproc: SERVER_TASKS, nofile: MAX_SERVER_FILES, core: 0 },
    scratch: [
      { path: SERVER_FOLDER, megabytes: 1, isClosed: true },
      { path: WORKSPACE, megabytes: scratchMb },
      { path: "/tmp", megabytes: scratchMb },
      { path: "/dev/shm", megabytes: SHM_MB },
      ...hidden.map((path) => ({ path, megabytes: 1, isClosed: true })),
    ],
    mounts: [...profile.mounts, ...mounts],
  };
}

/** Decides how the sandbox of a program is isolated. Pure. */
export function sandboxProfile(
  start: RunnerStart,
  { memoryMb, cpus, pids }: SandboxLimits,
  channel: ProfileChannel,
): SandboxProfile {
  const tasks = Math.min(MAX_TASKS, Math.max(MIN_TASKS, Math.floor(pids / HOST_TASKS_PER_TASK)));
  return {
    guard: [PERL, GUARD_PATH, String(MAX_LIFETIME_S), guardArgument(channel)],
    runner: start.command(Math.floor(memoryMb * HEAP_SHARE), cpus),
    environment: ["HOME=/tmp", "TZ=UTC", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", ...start.variables],
    workingDirectory: WORKSPACE,
    hostname: "sandbox",
    user: { uid: NOBODY, gid: NOBODY },
    capabilities: [],
    mayGainPrivileges: false,
    network: "none",
    isRootReadOnly: true,
    keepsOutput: false,
    memoryBytes: memoryMb * 1024 * 1024,
    cpus,
    hostTasks: pids + GVISOR_TASKS,
    resourceLimits: { nproc: tasks, nofile: MAX_OPEN_FILES, core: 0 },
    scratch: SCRATCH,
    mounts:
      typeof channel === "object" ? [{ source: channel.sockets, target: SANDBOX_SOCKET_DIRECTORY }] : [],
  };
}

function guardArgument(channel: ProfileChannel): string {
  if (typeof channel === "object") return `${GUARD_SOCKETS}${SANDBOX_SOCKET_DIRECTORY}`;
  return channel === "attached" ? GUARD_ATTACHED : GUARD_DIRECT;
}

interface Wall {
  /** Whether programs are refused if the wall is known not to hold. */
  required: boolean;
  /** What a program cannot do while the wall holds, phrased to follow "a program cannot". */
  keeps: string;
}

/** The walls around a program. Each is one or two fields of the profile, except `kernel` and `sentry`, which are gVisor's. */
export const WALLS = {
  kernel: { required: true, keeps: "talk to the host's kernel: gVisor's is in between" },
  sentry: {
    required: false,
    keeps: "become root on the host by a hole in gVisor's kernel alone: that is nobody there",
  },
  network: { required: true, keeps: "reach any network or port" },
  names: { required: true, keeps: "see name servers of the host's" },
  "read-only": { required: true, keeps: "change the image that it runs in" },
  user: { required: true, keeps: "be anybody but nobody" },
  capabilities: { required: true, keeps: "have any capability" },
  "new-privileges": { required: true, keeps: "gain rights from a file" },
  mounts: { required: true, keeps: "have more mounted than its own folders" },
  files: { required: true, keeps: "see a file of the host's" },
  engine: { required: true, keeps: "reach the engine that runs it" },
  devices: { required: true, keeps: "use a device of the host's" },
  memory: { required: true, keeps: "take more memory than its limit" },
  processes: { required: true, keeps: "start processes without end" },
  disk: { required: true, keeps: "write more than its folders hold" },
  processors: { required: false, keeps: "compute on more processors than it has" },
  "open-files": { required: false, keeps: "open files without end" },
  core: { required: false, keeps: "leave a dump of its memory" },
  log: { required: true, keeps: "fill the host's disk with what it prints" },
  time: { required: true, keeps: "go on when its time is up" },
  orphan: { required: true, keeps: "outlive the ptc that started it" },
  removal: { required: true, keeps: "leave its container behind" },
} as const satisfies Record<string, Wall>;

export type WallName = keyof typeof WALLS;

/** Advice for problems of an engine. Each text is phrased to follow a semicolon. */
export interface EngineAdvice {
  /** For an engine that does not know the runtime. */
  missingRuntime: string;
  /** For a wall that does not hold. */
  walls: Readonly<Record<WallName, string>>;
}
