import { readFileSync } from "node:fs";

/** The rights on this machine of the process that is gVisor's kernel (its "sentry") for one sandbox. */
export interface SentryProcess {
  /** Real, effective, saved and file system. */
  uids: readonly number[];
  /** Sets of capabilities, in hexadecimal, except the bounding set, which is only a limit. */
  capabilities: Readonly<Record<string, string>>;
}

/**
 * Reads the entry of a sandbox's kernel in this machine's /proc. The process is recognised by its name and by the id of its container
 * on its command line. A container elsewhere, or one without gVisor, gives `undefined`.
 *
 * @param pid the pid reported by the engine.
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

/** Whether an attacker who takes over the process would have no special rights on this machine. */
export function isUnprivileged({ uids, capabilities }: SentryProcess): boolean {
  return !uids.includes(0) && Object.values(capabilities).every((set) => /^0*$/.test(set));
}
