import { readFileSync } from "node:fs";

/** The rights on this machine of the process that is gVisor's kernel (its "sentry") for one sandbox. */
export interface SentryProcess {
  /** Real, effective, saved and file system. */
  uids: readonly number[];
  /** Sets of capabilities, in hexadecimal, except the bounding set, which is a limit and gives none. */
  capabilities: Readonly<Record<string, string>>;
}

/**
 * Reads what this machine's /proc has of a sandbox's kernel. The process is known by its name and by the id of its container,
 * which no other process of this machine has on its command line: a container elsewhere, or one that is not gVisor's, gives
 * `undefined`.
 *
 * @param pid as the engine has it.
 */
export function readSentryProcess(
  containerId: string,
  pid: number,
  proc = "/proc",
): SentryProcess | undefined {
  const read = (name: string) => readFileSync(`${proc}/${pid}/${name}`, "utf8");
  try {
    const [command = "", ...args] = read("cmdline").split("\0");
    if (!/(?:^|\/)runsc-sandbox$/.test(command) || !args.includes(containerId)) return undefined;
    const status = read("status");
    const uids = /^Uid:\s*(.*)$/m.exec(status)?.[1]?.split(/\s+/).map(Number) ?? [];
    const sets = [...status.matchAll(/^(Cap(?:Prm|Eff|Inh|Amb)):\s*([0-9a-f]+)$/gm)];
    if (uids.length !== 4 || uids.some(Number.isNaN) || sets.length === 0) return undefined;
    return { uids, capabilities: Object.fromEntries(sets.map(([, name, set]) => [name, set])) };
  } catch {
    return undefined;
  }
}

/** Whether an attacker who takes the process over would be a user of this machine without rights. */
export function isUnprivileged({ uids, capabilities }: SentryProcess): boolean {
  return !uids.includes(0) && Object.values(capabilities).every((set) => /^0*$/.test(set));
}
