import { basename } from "node:path";

/** A runtime as `docker info` has it. One that is a shim of containerd has neither, and is set up elsewhere. */
export interface DockerRuntime {
  path?: string | undefined;
  runtimeArgs?: readonly string[] | null | undefined;
}

/** The flag without which gVisor lets no sandbox open a Unix socket of the host (gVisor, "Filesystem: host Unix sockets"). */
const SOCKET_FLAG = /^--?host-uds=(?:open|all)$/;

/**
 * Why sandboxes of a runtime cannot reach ptc, and what to write where; `undefined` where they can, or where it cannot be told.
 *
 * @param name as the runtime is registered.
 */
export function socketFlagProblem(name: string, { path, runtimeArgs }: DockerRuntime): string | undefined {
  if (path === undefined || basename(path) !== "runsc") return undefined;
  const flags = runtimeArgs ?? [];
  if (flags.some((flag) => SOCKET_FLAG.test(flag))) return undefined;
  const others = flags.filter((flag) => !/^--?host-uds(?:=|$)/.test(flag));
  const entry = { runtimes: { [name]: { path, runtimeArgs: [...others, "--host-uds=open"] } } };
  return (
    "is registered without the flag --host-uds=open, so that no sandbox can connect to a socket of ptc's; " +
    `write ${JSON.stringify(entry)} into /etc/docker/daemon.json and restart Docker`
  );
}
