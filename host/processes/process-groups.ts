import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startTimeOf } from "./process-identity.ts";
import { UNKNOWN_START } from "./process-table.ts";

/**
 * The process groups that one ptc process has started and that must not outlive it. They are recorded in a folder, one file
 * for each, named `<pid>-<start time>`.
 */
export class ProcessGroups {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Records a group by the pid of its leader. */
  record(pid: number): void {
    const startTime = startTimeOf(pid);
    if (startTime !== undefined) writeFileSync(join(this.#folder, `${pid}-${startTime}`), "");
  }

  /** Removes the record of a group that has ended. */
  forget(pid: number): void {
    for (const name of this.#names()) {
      if (parseGroupName(name)?.[0] === pid) rmSync(join(this.#folder, name), { force: true });
    }
  }

  /** Kills every recorded process group with SIGKILL. */
  kill(): void {
    for (const name of this.#names()) killGroup(name);
  }

  #names(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder) : [];
  }
}

function parseGroupName(name: string): [pid: number, startTime: string] | undefined {
  const match = /^(\d+)-(\d+)$/.exec(name);
  return match === null ? undefined : [Number(match[1]), match[2] as string];
}

function killGroup(name: string): void {
  const group = parseGroupName(name);
  if (group === undefined) return;
  const [pid, startTime] = group;
  // A pid alone may be another process's by now.
  if (pid <= 1 || startTime === UNKNOWN_START || startTimeOf(pid) !== startTime) return;
  // Servers lead a group of their own; other recorded processes are in ptc's group, so they are killed by pid.
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
      return;
    } catch {
      // The group does not exist, or has just ended.
    }
  }
}
