import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startTimeOf } from "./process-identity.ts";
import { UNKNOWN_START } from "./process-table.ts";

/** What the file of a group says whose program has not said anything yet. */
const STARTING = "starting";

/**
 * The process groups that one ptc process has started and that must not outlive it. They are recorded in a folder, one file
 * for each, named `<pid>-<start time>`.
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
   * Kills every recorded process group with SIGKILL, but those that may be installing themselves.
   *
   * @param onStarting receives these, alive; without it they are left to whoever has started them.
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

/** The leader of a recorded group, where that is still the same process. */
function livePidOf(name: string): number | undefined {
  const [pid = 0, startTime] = parseGroupName(name) ?? [];
  // A pid alone may be another process's by now.
  const isSame = pid > 1 && startTime !== UNKNOWN_START && startTimeOf(pid) === startTime;
  return isSame ? pid : undefined;
}

function killGroup(pid: number): void {
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
