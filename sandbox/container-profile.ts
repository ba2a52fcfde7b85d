import { RUNNER_PATH, SANDBOX_SOCKET_DIRECTORY, WORKSPACE } from "../protocol/paths.ts";

/** What a user may set about a sandbox. */
export interface SandboxLimits {
  memoryMb: number;
  cpus: number;
  /** Threads on the host that the program's own processes and threads may take. */
  pids: number;
}

export interface ContainerProfile {
  /** Digest of the image. */
  image: string;
  runtime: string;
  limits: SandboxLimits;
  /** Host folder that holds the socket and nothing else. */
  socketDirectory: string;
  /** Host path of an empty file. */
  emptyFile: string;
  labels: Record<string, string>;
}

const USER = "65534:65534";
const NODE = "/usr/local/bin/node";
const WORKSPACE_MB = 64;
const TMP_MB = 64;
const SHM_MB = 16;
/**
 * What gVisor needs for itself, as the host counts: 28 to 44 threads. At the host's limit the whole sandbox dies without a
 * word, so that the program must meet its own limit first, which is a clean EAGAIN: each of its processes and threads
 * takes up to four on the host, and Node.js has eleven from the start.
 */
const GVISOR_TASKS = 48;
const HOST_TASKS_PER_TASK = 4;
const MIN_TASKS = 16;
const MAX_TASKS = 32;
const MAX_OPEN_FILES = 1_024;
/** Share of the memory that the JavaScript heap may take, so that a leak ends in V8's own words and not in a kill. */
const HEAP_SHARE = 0.75;

/**
 * The container of one program, as a request to the Docker Engine API (`POST /containers/create`). Everything that
 * walls it in is in this one function.
 */
export function buildContainerRequest(profile: ContainerProfile) {
  const { pids } = profile.limits;
  const tasks = Math.min(MAX_TASKS, Math.max(MIN_TASKS, Math.floor(pids / HOST_TASKS_PER_TASK)));
  const memory = profile.limits.memoryMb * 1024 * 1024;
  const heapMb = Math.floor(profile.limits.memoryMb * HEAP_SHARE);
  const tmpfs = (sizeMb: number) => `rw,nosuid,nodev,size=${sizeMb}m,mode=1777`;
  return {
    Image: profile.image,
    Entrypoint: [NODE],
    Cmd: [`--max-old-space-size=${heapMb}`, "--enable-source-maps", "--stack-trace-limit=50", RUNNER_PATH],
    Env: ["NODE_ENV=production", "HOME=/tmp", "TZ=UTC", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"],
    WorkingDir: WORKSPACE,
    User: USER,
    Hostname: "sandbox",
    NetworkDisabled: true,
    AttachStdin: false,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: false,
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
      Tmpfs: { [WORKSPACE]: tmpfs(WORKSPACE_MB), "/tmp": tmpfs(TMP_MB), "/dev/shm": tmpfs(SHM_MB) },
      Mounts: [
        bind(profile.socketDirectory, SANDBOX_SOCKET_DIRECTORY),
        // Docker would copy the host's name servers into the container.
        bind(profile.emptyFile, "/etc/resolv.conf"),
      ],
    },
  };
}

export type ContainerRequest = ReturnType<typeof buildContainerRequest>;

function bind(source: string, target: string) {
  return { Type: "bind" as const, Source: source, Target: target, ReadOnly: true };
}
