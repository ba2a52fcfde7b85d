import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

/** Starts programs in process groups of their own, so that their children end with them. */

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
    // Kill the processes that the leader has left behind.
    signalGroup(pid, "SIGKILL");
    live.delete(pid);
    if (live.size === 0) process.off("exit", killAll);
  });
  return child;
}

/** Signals every process of a group. A group that has ended is no error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group does not exist, or none of its processes is ours.
  }
}
