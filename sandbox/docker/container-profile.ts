import type { RunnerStart } from "../../protocol/runners.ts";
import {
  type Mount,
  type SandboxLimits,
  type ServerWalls,
  sandboxProfile,
  serverProfile,
} from "../sandbox-profile.ts";

const RESOLV_CONF = "/etc/resolv.conf";

export interface ContainerProfile {
  /** Digest of the image. */
  image: string;
  runtime: string;
  start: RunnerStart;
  limits: SandboxLimits;
  /** The host folder that contains only the sockets. If absent, the channel goes over the attached stdin and stdout. */
  socketDirectory?: string | undefined;
  /** For the sandbox of a server. */
  server?: ServerWalls | undefined;
  labels: Record<string, string>;
}

/**
 * The container of one program: the profile of a sandbox (../sandbox-profile.ts) as a request to the Docker Engine API
 * (`POST /containers/create`). Pure.
 */
export function buildContainerRequest({
  image,
  runtime,
  start,
  limits,
  socketDirectory,
  server,
  labels,
}: ContainerProfile) {
  const channel = socketDirectory === undefined ? "attached" : { sockets: socketDirectory };
  const profile =
    server === undefined ? sandboxProfile(start, limits, channel) : serverProfile(limits, channel, server);
  const scratch = profile.scratch.map(({ path, megabytes, isClosed }): [string, string] => [
    path,
    `rw,nosuid,nodev,size=${megabytes}m,mode=${isClosed ? "755" : "1777"}`,
  ]);
  const hasNames = profile.mounts.some(({ target }) => target === RESOLV_CONF);
  const shm = profile.scratch.find(({ path }) => path === "/dev/shm");
  return {
    Image: image,
    Entrypoint: [...profile.guard],
    Cmd: [...profile.runner],
    Env: [...profile.environment],
    WorkingDir: profile.workingDirectory,
    User: `${profile.user.uid}:${profile.user.gid}`,
    Hostname: profile.hostname,
    NetworkDisabled: profile.network === "none",
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    // The engine closes stdin when the attached client disconnects.
    StdinOnce: true,
    Tty: false,
    Labels: labels,
    HostConfig: {
      AutoRemove: true,
      Runtime: runtime,
      NetworkMode: profile.network as string,
      ReadonlyRootfs: profile.isRootReadOnly as boolean,
      // `capabilities`, `mayGainPrivileges` and `keepsOutput`, which have one value each.
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      LogConfig: { Type: "none", Config: {} },
      Memory: profile.memoryBytes,
      MemorySwap: profile.memoryBytes,
      NanoCpus: Math.round(profile.cpus * 1e9),
      PidsLimit: profile.hostTasks,
      ShmSize: (shm?.megabytes ?? 0) * 1024 * 1024,
      Ulimits: Object.entries(profile.resourceLimits).map(([Name, limit]) => ({
        Name,
        Soft: limit,
        Hard: limit,
      })),
      Tmpfs: Object.fromEntries(scratch),
      // Docker copies the host's name servers into a container. This empty file, which every machine has, hides them.
      Mounts: [...profile.mounts, ...(hasNames ? [] : [{ source: "/dev/null", target: RESOLV_CONF }])].map(
        ({ source, target, isWritable = false }: Mount) => ({
          Type: "bind" as const,
          Source: source,
          Target: target,
          ReadOnly: !isWritable,
        }),
      ),
    },
  };
}

export type ContainerRequest = ReturnType<typeof buildContainerRequest>;
