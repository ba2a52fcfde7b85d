import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Identifies a process so that a reused pid, another boot or another container is not mistaken for it. */
export interface ProcessIdentity {
  /** The boot, and the namespace of pids. */
  host: string;
  pid: number;
  startTime: string;
}

let found: ProcessTable | undefined;

function table(): ProcessTable {
  found ??= findProcessTable();
  return found;
}

/** This process. */
export function currentProcess(): ProcessIdentity {
  const startTime = startTimeOf(process.pid) ?? UNKNOWN_START;
  return { host: table().hostIdentity(), pid: process.pid, startTime };
}

/** Start time of a live process, in the system's own unit; `undefined` when there is no such process or it is a zombie. */
export function startTimeOf(pid: number): string | undefined {
  return table().startTimeOf(pid);
}

/** If only the pid of a process is known, it counts as alive while any process has that pid. */
function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  const now = startTimeOf(pid);
  return now !== undefined && (now === startTime || now === UNKNOWN_START || startTime === UNKNOWN_START);
}

/** The identity as one text without a slash, which names files and labels sandboxes. `parseIdentity` reads it. */
export function formatIdentity(identity: ProcessIdentity): string {
  return `${identity.host}.${identity.pid}.${identity.startTime}`;
}

/** Reads what `formatIdentity` made, also with the number of a folder behind it; `undefined` for any other text. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const match = /^([0-9a-f]+-\d+)\.(\d+)\.(\d+)(?:-\d+)?$/.exec(text);
  if (match === null) return undefined;
  return { host: match[1] as string, pid: Number(match[2]), startTime: match[3] as string };
}

/**
 * Whether a process is known to have ended. False for a process of another boot or pid namespace than `self`, and for a
 * text that is no identity.
 *
 * @param identity in the form of `formatIdentity`.
 */
export function isDead(identity: string, self: ProcessIdentity): boolean {
  const owner = parseIdentity(identity);
  return owner !== undefined && owner.host === self.host && !isAlive(owner);
}

/** What a system knows about its processes. */
interface ProcessTable {
  /** Identifies this boot, and the namespace within which a pid is meaningful: hexadecimal digits, `-`, decimal digits. */
  hostIdentity(): string;
  /**
   * Decimal digits that tell a live process from an earlier or later one of its pid; {@link UNKNOWN_START} where the system
   * does not tell. `undefined` when there is no such process or it is a zombie.
   */
  startTimeOf(pid: number): string | undefined;
}

/** The start time of a live process when nothing more is known about it. */
export const UNKNOWN_START = "0";

const COMMAND_PATIENCE_MS = 5_000;

/** Linux: boot id, pid namespace, and start time in clock ticks since boot (proc(5), `/proc/<pid>/stat` field 22). */
const procTable: ProcessTable = {
  hostIdentity() {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim().slice(0, 8);
    const namespace = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
    return `${boot}-${namespace}`;
  },
  startTimeOf(pid) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return fields[0] === "Z" ? undefined : fields[19];
    } catch {
      return undefined;
    }
  },
};

/**
 * Systems without `/proc`, such as macOS: the boot as `sysctl` tells it, and the start time as `ps` does (POSIX `ps`, with
 * `lstart` of BSD). Where those commands are missing, it only tells whether a process is there.
 */
export const commandTable: ProcessTable = {
  hostIdentity() {
    // Of macOS. The time of the boot is corrected along with the clock, so it identifies nothing.
    const boot = /^[0-9A-Fa-f]{8}/.exec(outputOf("sysctl", ["-n", "kern.bootsessionuuid"]) ?? "")?.[0];
    const named = boot ?? createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
    return `${named.toLowerCase()}-0`;
  },
  startTimeOf(pid) {
    if (!isThere(pid)) return undefined;
    const line = outputOf("ps", ["-o", "stat=", "-o", "lstart=", "-p", String(pid)])?.trim();
    if (line === undefined || line === "") return isThere(pid) ? UNKNOWN_START : undefined;
    const [, state = "", started = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
    if (state.startsWith("Z")) return undefined;
    const seconds = Date.parse(`${started} UTC`) / 1_000;
    return Number.isInteger(seconds) ? String(seconds) : UNKNOWN_START;
  },
};

/** What this system has. */
export function findProcessTable(): ProcessTable {
  return procTable.startTimeOf(process.pid) === undefined ? commandTable : procTable;
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** What a command prints, in plain English and in UTC; `undefined` when it is not there or fails. */
function outputOf(command: string, args: string[]): string | undefined {
  const { status, stdout } = spawnSync(command, args, {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: COMMAND_PATIENCE_MS,
  });
  return status === 0 ? stdout : undefined;
}
