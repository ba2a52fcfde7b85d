import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { startTimeOf, UNKNOWN_START } from "./process-identity.ts";

/**
 * Starts programs in separate process groups, so that their children end with them.
 *
 * A program that has not started yet may be installing itself, as with `npx -y` and `uvx`. Killing it then would leave half an
 * installation, which later starts would mistake for a whole one. A group that is starting and was recently active may therefore
 * finish, without its stdin and for a bounded time. ptc watches over that while it runs, and a shell does so afterwards.
 */

interface Group {
  child: ChildProcessWithoutNullStreams;
  isStarting: boolean;
  /** When it was last seen active, by `performance.now`. */
  activeAt: number;
}

const live = new Map<number, Group>();

/** How long a group counts as active after its last sign of activity. */
const RECENT_MS = 5_000;

/** How long a group may take to finish, and then to clean up before it is killed. */
const FINISH_SECONDS = 60;
const UNDO_SECONDS = 10;

const POLL_MS = 1_000;

/** The most processor time that a merely waiting program uses between two looks. */
const IDLE_CPU_MS = 20;

/** Linux counts processor time in hundredths of a second (proc(5), `USER_HZ`). */
const TICK_MS = 10;

function endAll(): void {
  for (const [pid, group] of live) {
    if (isInstalling(pid)) finishWithoutUs(pid, group.child);
    else signalGroup(pid, "SIGKILL");
  }
}

/**
 * Starts a program without a shell as the leader of a new process group.
 *
 * @param options `mayInstall`: whether it may be installing itself until `noteStarted` is called.
 */
export function spawnGroup(
  command: string,
  args: readonly string[],
  { mayInstall = false, ...options }: { cwd: string; env: Record<string, string>; mayInstall?: boolean },
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
  if (live.size === 0) process.on("exit", endAll);
  live.set(pid, { child, isStarting: mayInstall, activeAt: performance.now() });
  child.once("exit", () => {
    // Kills the processes that the leader has left behind.
    signalGroup(pid, "SIGKILL");
    live.delete(pid);
    if (live.size === 0) process.off("exit", endAll);
  });
  return child;
}

/** Signals every process of a group. A group that has ended is no error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group does not exist, or belongs to another user.
  }
}

/** Notes that the program has started, and no longer installs anything. */
export function noteStarted(pid: number): void {
  const group = live.get(pid);
  if (group !== undefined) group.isStarting = false;
}

/** Notes that the program was seen active. */
export function noteActivity(pid: number): void {
  const group = live.get(pid);
  if (group !== undefined) group.activeAt = performance.now();
}

/** Whether a group is starting and was recently active. */
export function isInstalling(pid: number): boolean {
  const group = live.get(pid);
  return group?.isStarting === true && performance.now() - group.activeAt < RECENT_MS;
}

/** Follows the processor time of a group. Each call resolves with whether the group was active since the previous call. */
export function watchProcessorTime(pid: number): () => Promise<boolean> {
  let before: number | undefined;
  return async () => {
    const now = await processorMsOf(pid);
    const isAtWork = now !== undefined && before !== undefined && Math.abs(now - before) >= IDLE_CPU_MS;
    before = now;
    if (isAtWork) noteActivity(pid);
    return isAtWork;
  };
}

/**
 * Lets a group finish its installation. Ends the group when it is no longer active, or after a bounded time. If ptc ends first,
 * a shell takes over.
 */
export function letFinish(pid: number): void {
  const group = live.get(pid);
  if (group === undefined) return;
  const { child } = group;
  for (const stream of [child.stdout, child.stderr]) {
    stream.removeAllListeners("data");
    stream.resume();
    (stream as { unref?: () => void }).unref?.();
  }
  child.unref();
  const began = performance.now();
  const isAtWork = watchProcessorTime(pid);
  const timer = setInterval(async () => {
    if (!live.has(pid)) return clearInterval(timer);
    const spentMs = performance.now() - began;
    await isAtWork();
    if (spentMs > (FINISH_SECONDS + UNDO_SECONDS) * 1_000) signalGroup(pid, "SIGKILL");
    else if (spentMs > FINISH_SECONDS * 1_000 || !isInstalling(pid)) {
      clearInterval(timer);
      signalGroup(pid, "SIGTERM");
      setTimeout(() => live.has(pid) && signalGroup(pid, "SIGKILL"), UNDO_SECONDS * 1_000).unref();
    }
  }, POLL_MS).unref();
}

/**
 * The shell script that lets a group finish, asks it to clean up, and kills it. It reads the group's output meanwhile, because
 * pipes break without a reader. The pipes do not block, so each `cat` ends when no more output is available.
 */
const FINISH = `
wait_for() {
  n=0
  while kill -s 0 -- "-$1" 2>/dev/null && [ $n -lt $2 ]; do
    [ "$3" = read ] && { cat <&3 >/dev/null 2>&1 & cat <&4 >/dev/null 2>&1 & }
    sleep 1; n=$((n+1))
  done
}
wait_for "$1" ${FINISH_SECONDS} "$2"
kill -s TERM -- "-$1" 2>/dev/null || exit 0
wait_for "$1" ${UNDO_SECONDS} "$2"
kill -s KILL -- "-$1" 2>/dev/null`;

/** Starts a shell that lets a group finish, even after ptc has ended. @param child the child whose output the shell reads. */
export function finishWithoutUs(pid: number, child?: ChildProcessWithoutNullStreams): void {
  const reads = child !== undefined && !child.stdout.destroyed && !child.stderr.destroyed;
  const output = reads ? [child.stdout, child.stderr] : [];
  try {
    spawn("/bin/sh", ["-c", FINISH, "sh", String(pid), reads ? "read" : "none"], {
      detached: true,
      stdio: ["ignore", "ignore", "ignore", ...output],
    })
      .on("error", () => signalGroup(pid, "SIGTERM"))
      .unref();
  } catch {
    signalGroup(pid, "SIGTERM");
  }
}

/** Processor time of a group so far, in milliseconds, including children that have ended. `undefined` if it is unknown. */
async function processorMsOf(group: number): Promise<number | undefined> {
  try {
    return process.platform === "linux" ? procMsOf(group) : await psMsOf(group);
  } catch {
    return undefined;
  }
}

/** Reads `/proc/<pid>/stat` (proc(5)): `pgrp` is field 5, and `utime`, `stime`, `cutime` and `cstime` are fields 14 to 17. */
function procMsOf(group: number): number {
  let ticks = 0;
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    let stat: string;
    try {
      stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    } catch {
      continue;
    }
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(fields[2]) !== group) continue;
    for (const field of fields.slice(11, 15)) ticks += Number(field);
  }
  return ticks * TICK_MS;
}

/** For systems without `/proc`: asks POSIX `ps`, whose times are `[[dd-]hh:]mm:ss`, on macOS with hundredths. */
async function psMsOf(group: number): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pgid=", "-o", "time="], {
    timeout: 5_000,
  });
  let seconds = 0;
  for (const line of stdout.split("\n")) {
    const [pgid, time = ""] = line.trim().split(/\s+/);
    if (Number(pgid) !== group) continue;
    seconds += time.split(/[-:]/).reduce((sum, part) => sum * 60 + Number(part), 0);
  }
  return seconds * 1_000;
}

/** The content of a group's file before its program has printed anything. */
const STARTING = "starting";

/**
 * The process groups that one ptc process has started and that must not outlive it. A folder records them, in one file for each
 * group, named `<pid>-<start time>`.
 */
export class ProcessGroups {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Records a group by the pid of its leader. @param isStarting whether it may be installing itself. */
  record(pid: number, isStarting = false): void {
    const startTime = startTimeOf(pid);
    if (startTime !== undefined)
      writeFileSync(join(this.#folder, `${pid}-${startTime}`), isStarting ? STARTING : "");
  }

  /** Removes the record of a group that has ended. */
  forget(pid: number): void {
    for (const name of this.#names()) {
      if (parseGroupName(name)?.[0] === pid) rmSync(join(this.#folder, name), { force: true });
    }
  }

  /**
   * Kills every recorded process group with SIGKILL, except groups that may be installing themselves.
   *
   * @param onStarting receives the excepted groups, which still run. By default, nothing happens to them.
   */
  kill(onStarting: (pid: number) => void = () => {}): void {
    for (const name of this.#names()) {
      const pid = livePidOf(name);
      if (pid === undefined) continue;
      if (this.#isStarting(name)) onStarting(pid);
      else killGroup(pid);
    }
  }

  #isStarting(name: string): boolean {
    try {
      return readFileSync(join(this.#folder, name), "utf8") === STARTING;
    } catch {
      return false;
    }
  }

  #names(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder) : [];
  }
}

function parseGroupName(name: string): [pid: number, startTime: string] | undefined {
  const match = /^(\d+)-(\d+)$/.exec(name);
  return match === null ? undefined : [Number(match[1]), match[2] as string];
}

/** The leader of a recorded group, if that is still the same process. */
function livePidOf(name: string): number | undefined {
  const [pid = 0, startTime] = parseGroupName(name) ?? [];
  // Another process may have the pid by now.
  const isSame = pid > 1 && startTime !== UNKNOWN_START && startTimeOf(pid) === startTime;
  return isSame ? pid : undefined;
}

function killGroup(pid: number): void {
  // Servers lead a separate group. Other recorded processes are in ptc's group, and are killed by pid.
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
      return;
    } catch {
      // The group does not exist, or has just ended.
    }
  }
}
