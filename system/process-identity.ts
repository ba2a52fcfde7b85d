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

/** Start time of a live process, in the system's unit. `undefined` if there is no such process or it is a zombie. */
export function startTimeOf(pid: number): string | undefined {
  return table().startTimeOf(pid);
}

/** Whether a process is alive. If its start time is unknown, any process with its pid counts. */
function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  const now = startTimeOf(pid);
  return now !== undefined && (now === startTime || now === UNKNOWN_START || startTime === UNKNOWN_START);
}

/** The identity as a text without a slash, for names of files and labels of sandboxes. `parseIdentity` reads it. */
export function formatIdentity(identity: ProcessIdentity): string {
  return `${identity.host}.${identity.pid}.${identity.startTime}`;
}

/** Parses the text of `formatIdentity`, optionally with a folder's number after it. `undefined` for any other text. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const match = /^([0-9a-f]+-\d+)\.(\d+)\.(\d+)(?:-\d+)?$/.exec(text);
  if (match === null) return undefined;
  return { host: match[1] as string, pid: Number(match[2]), startTime: match[3] as string };
}

/**
 * Whether a process is known to have ended. False for a process of another boot or pid namespace than `self`, and for a
 * text that is not an identity.
 *
 * @param identity in the form of `formatIdentity`.
 */
export function isDead(identity: string, self: ProcessIdentity): boolean {
  const owner = parseIdentity(identity);
  return owner !== undefined && owner.host === self.host && !isAlive(owner);
}

/** Looks up processes in a system. */
interface ProcessTable {
  /** Identifies this boot, and the namespace within which a pid is meaningful: hexadecimal digits, `-`, decimal digits. */
  hostIdentity(): string;
  /**
   * Decimal digits that distinguish a live process from an earlier or later one with its pid, or {@link UNKNOWN_START} if the
   * system does not tell. `undefined` if there is no such process or it is a zombie.
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
 * For systems without `/proc`, such as macOS: the boot from `sysctl`, and the start time from `ps` (POSIX `ps`, with `lstart` of
 * BSD). Without those commands, it only knows whether a process exists.
 */
export const commandTable: ProcessTable = {
  hostIdentity() {
    // This is macOS's id of a boot. The time of the boot changes with corrections of the clock, so it identifies nothing.
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

/** The process table of this system. */
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

/** The output of a command, in English and in UTC. `undefined` if the command is missing or fails. */
function outputOf(command: string, args: string[]): string | undefined {
  const { status, stdout } = spawnSync(command, args, {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: COMMAND_PATIENCE_MS,
  });
  return status === 0 ? stdout : undefined;
}
