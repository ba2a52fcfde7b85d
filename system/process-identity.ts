import { findProcessTable, type ProcessTable, UNKNOWN_START } from "./process-table.ts";

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

/** Start time of a live process, in the terms of its system; `undefined` when there is none or it is a zombie. */
export function startTimeOf(pid: number): string | undefined {
  return table().startTimeOf(pid);
}

/** A process of which no more than its pid is known counts as alive while any process has that pid. */
function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  const now = startTimeOf(pid);
  return now !== undefined && (now === startTime || now === UNKNOWN_START || startTime === UNKNOWN_START);
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
