import type { RunnerStart } from "../../protocol/runners.ts";
import { type SandboxLimits, sandboxProfile } from "../sandbox-profile.ts";

export interface ContainerProfile {
  /** Digest of the image. */
  image: string;
  runtime: string;
  start: RunnerStart;
  limits: SandboxLimits;
  /** The host folder that contains only the sockets. If absent, the channel goes over the attached stdin and stdout. */
  socketDirectory?: string | undefined;
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
  labels,
}: ContainerProfile) {
  const channel = socketDirectory === undefined ? "attached" : { sockets: socketDirectory };
  const profile = sandboxProfile(start, limits, channel);
  const scratch = profile.scratch.map(({ path, megabytes }): [string, string] => [
    path,
    `rw,nosuid,nodev,size=${megabytes}m,mode=1777`,
  ]);
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
      Mounts: [...profile.mounts, { source: "/dev/null", target: "/etc/resolv.conf" }].map(
        ({ source, target }) => ({
          Type: "bind" as const,
          Source: source,
          Target: target,
          ReadOnly: true,
        }),
      ),
    },
  };
}

export type ContainerRequest = ReturnType<typeof buildContainerRequest>;
