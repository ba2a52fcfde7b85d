import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatIdentity, type ProcessIdentity, startTimeOf } from "./process-identity.ts";
import { SandboxError } from "./sandbox-error.ts";

/** One file per process group that this process has started, named `<pid>-<start time>`. */
const GROUPS = "groups";

/**
 * What one ptc process keeps on disk while it runs, in a folder that names the process: sockets, and which process
 * groups it started. A later ptc finds the folder of a dead one and clears up after it.
 *
 *     <base>/<identity>/empty                 an empty file
 *     <base>/<identity>/groups/<pid>-<start>  one per server process group
 *     <base>/<identity>/<run>/broker.sock     one folder per sandbox
 */
export class StateDirectory {
  readonly #path: string;

  /**
   * @param base folder shared by all ptc processes of this user; created private.
   * @throws SandboxError `state_directory` when the folder belongs to somebody else.
   */
  constructor(base: string, identity: ProcessIdentity) {
    makePrivate(base);
    this.#path = join(base, formatIdentity(identity));
    mkdirSync(join(this.#path, GROUPS), { recursive: true });
    writeFileSync(this.emptyFile, "", { mode: 0o444 });
  }

  get emptyFile(): string {
    return join(this.#path, "empty");
  }

  /** Makes the folder that is mounted into one sandbox. */
  makeSocketDirectory(): string {
    const path = join(this.#path, randomBytes(6).toString("hex"));
    mkdirSync(path);
    // The sandbox's user must reach the socket; the base folder keeps other users of the host out.
    chmodSync(path, 0o755);
    return path;
  }

  /** Notes a process group that must not outlive this process. */
  recordGroup(pid: number): void {
    const startTime = startTimeOf(pid);
    if (startTime !== undefined) writeFileSync(join(this.#path, GROUPS, `${pid}-${startTime}`), "");
  }

  /** The group is gone. */
  forgetGroup(pid: number): void {
    const folder = join(this.#path, GROUPS);
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      if (parseGroupName(name)?.[0] === pid) rmSync(join(folder, name), { force: true });
    }
  }

  /** Where the groups are noted. */
  get groupsFolder(): string {
    return join(this.#path, GROUPS);
  }

  remove(): void {
    rmSync(this.#path, { recursive: true, force: true });
  }
}

function makePrivate(base: string): void {
  mkdirSync(base, { recursive: true, mode: 0o700 });
  const stat = lstatSync(base);
  if (!stat.isDirectory() || (process.getuid !== undefined && stat.uid !== process.getuid())) {
    throw new SandboxError(
      "state_directory",
      `${base} belongs to another user; remove it or set XDG_RUNTIME_DIR`,
    );
  }
  chmodSync(base, 0o700);
}

/** The process groups that a state folder names, as `[pid, start time]`. */
export function parseGroupName(name: string): [pid: number, startTime: string] | undefined {
  const match = /^(\d+)-(\d+)$/.exec(name);
  return match === null ? undefined : [Number(match[1]), match[2] as string];
}

export const GROUPS_FOLDER = GROUPS;
