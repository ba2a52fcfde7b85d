import { readFileSync, readlinkSync } from "node:fs";

/**
 * Identifies a process so that a reused pid, another boot or another container is not mistaken for it: boot id, pid
 * namespace, pid, and start time in clock ticks since boot (proc(5), `/proc/<pid>/stat` field 22).
 */
export interface ProcessIdentity {
  host: string;
  pid: number;
  startTime: string;
}

/** This process. */
export function currentProcess(): ProcessIdentity {
  return { host: hostIdentity(), pid: process.pid, startTime: startTimeOf(process.pid) ?? "0" };
}

/** Identifies this boot and this pid namespace, within which a pid is meaningful. */
function hostIdentity(): string {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim().slice(0, 8);
  const namespace = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  return `${boot}-${namespace}`;
}

/** Start time of a live process; `undefined` when there is none or it is a zombie. */
export function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function isAlive(identity: ProcessIdentity): boolean {
  return startTimeOf(identity.pid) === identity.startTime;
}

/** The identity as one text without a slash, which names files and labels sandboxes. `parseIdentity` reads it. */
export function formatIdentity(identity: ProcessIdentity): string {
  return `${identity.host}.${identity.pid}.${identity.startTime}`;
}

/** Reads what `formatIdentity` made; `undefined` for any other text. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const match = /^([0-9a-f]+-\d+)\.(\d+)\.(\d+)$/.exec(text);
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
