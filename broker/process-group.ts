import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

/** Programs in process groups of their own, so that whatever they start ends with them, and all of them with ptc. */

const live = new Set<number>();

function killAll(): void {
  for (const pid of live) signalGroup(pid, "SIGKILL");
}

/** Starts a program without a shell as the leader of a new process group. */
export function spawnGroup(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string> },
): ChildProcessWithoutNullStreams {
  const child = spawn(command, args, {
    ...options,
    detached: true,
    shell: false,
    stdio: "pipe",
    windowsHide: true,
  });
  const { pid } = child;
  if (pid === undefined) return child;
  if (live.size === 0) process.on("exit", killAll);
  live.add(pid);
  child.once("exit", () => {
    // What the leader leaves behind has nobody to answer to.
    signalGroup(pid, "SIGKILL");
    live.delete(pid);
    if (live.size === 0) process.off("exit", killAll);
  });
  return child;
}

/** Signals every process of a group; one that is gone is no error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // No such group, or none of it is ours any more.
  }
}
