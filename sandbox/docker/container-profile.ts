import { GUARD_ATTACHED, GUARD_SOCKETS } from "../../protocol/guard.ts";
import { GUARD_PATH, type RunnerStart, SANDBOX_SOCKET_DIRECTORY, WORKSPACE } from "../../protocol/runners.ts";
import type { SandboxLimits } from "../sandbox-engine.ts";

export interface ContainerProfile {
  /** Digest of the image. */
  image: string;
  runtime: string;
  start: RunnerStart;
  limits: SandboxLimits;
  /** Host folder that holds the sockets and nothing else. Without it the channel goes over the attached stdin and stdout. */
  socketDirectory?: string | undefined;
  labels: Record<string, string>;
}

const USER = "65534:65534";
const PERL = "/usr/bin/perl";
/** The longest life of a sandbox, even if ptc hangs: the longest time limit of a program, and an hour of waiting for one. */
const MAX_LIFETIME_S = 25 * 60 * 60;
/** The sizes of a sandbox's folders that can be written to. */
export const SCRATCH_MB = { WORKSPACE_MB: 64, TMP_MB: 64 };
const SHM_MB = 16;
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
const MAX_OPEN_FILES = 1_024;
/** The share of the memory for a program's values, so that a leak ends with an error of its language and not with a kill. */
const HEAP_SHARE = 0.75;

/**
 * The container of one program, as a request to the Docker Engine API (`POST /containers/create`). This function alone
 * decides how the program is isolated.
 */
export function buildContainerRequest(profile: ContainerProfile) {
  const { socketDirectory } = profile;
  const { pids } = profile.limits;
  const tasks = Math.min(MAX_TASKS, Math.max(MIN_TASKS, Math.floor(pids / HOST_TASKS_PER_TASK)));
  const memory = profile.limits.memoryMb * 1024 * 1024;
  const tmpfs = (sizeMb: number) => `rw,nosuid,nodev,size=${sizeMb}m,mode=1777`;
  return {
    Image: profile.image,
    // The guard ends the sandbox when its stdin, which ptc holds, is closed. It starts the command that follows.
    Entrypoint: [
      PERL,
      GUARD_PATH,
      String(MAX_LIFETIME_S),
      socketDirectory === undefined ? GUARD_ATTACHED : `${GUARD_SOCKETS}${SANDBOX_SOCKET_DIRECTORY}`,
    ],
    Cmd: profile.start.command(Math.floor(profile.limits.memoryMb * HEAP_SHARE)),
    Env: ["HOME=/tmp", "TZ=UTC", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", ...profile.start.variables],
    WorkingDir: WORKSPACE,
    User: USER,
    Hostname: "sandbox",
    NetworkDisabled: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    // The engine closes stdin when the attached client has disconnected.
    StdinOnce: true,
    Tty: false,
    Labels: profile.labels,
    HostConfig: {
      AutoRemove: true,
      Runtime: profile.runtime,
      NetworkMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      LogConfig: { Type: "none", Config: {} },
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Math.round(profile.limits.cpus * 1e9),
      PidsLimit: pids + GVISOR_TASKS,
      ShmSize: SHM_MB * 1024 * 1024,
      Ulimits: [
        { Name: "nproc", Soft: tasks, Hard: tasks },
        { Name: "nofile", Soft: MAX_OPEN_FILES, Hard: MAX_OPEN_FILES },
        { Name: "core", Soft: 0, Hard: 0 },
      ],
      Tmpfs: {
        [WORKSPACE]: tmpfs(SCRATCH_MB.WORKSPACE_MB),
        "/tmp": tmpfs(SCRATCH_MB.TMP_MB),
        "/dev/shm": tmpfs(SHM_MB),
      },
      Mounts: [
        ...(socketDirectory === undefined ? [] : [bind(socketDirectory, SANDBOX_SOCKET_DIRECTORY)]),
        // Docker would copy the host's name servers into the container. Every engine's machine has this empty file.
        bind("/dev/null", "/etc/resolv.conf"),
      ],
    },
  };
}

export type ContainerRequest = ReturnType<typeof buildContainerRequest>;

function bind(source: string, target: string) {
  return { Type: "bind" as const, Source: source, Target: target, ReadOnly: true };
}
