/**
 * The limits of sandboxes without an engine: ptc creates one cgroup for each.
 *
 *     v1  <controller>/ptc/<owner>~<id>   on each of memory, pids and cpu
 *     v2  ptc/<owner>~<id>                of the whole, or of the part that is this user's
 *
 * The launcher puts itself into the group before it becomes runsc, so that no process of a sandbox is ever outside. The group's own
 * counters say whether the memory was full, which exit codes do not say reliably.
 */

import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/faults.ts";
import type { SandboxProfile } from "../sandbox-profile.ts";

const CONTROLLERS = ["memory", "pids", "cpu"] as const;
type Controller = (typeof CONTROLLERS)[number];

/** The folder for ptc's groups in each hierarchy. */
const OWN = "ptc";
const PERIOD_US = 100_000;
/** A group is empty for a moment before its sandbox is launched into it. */
const ABANDONED_MS = 30_000;
/** A group is busy for a moment after its last process has ended. */
const REMOVAL_LOOK_MS = 10;
const REMOVAL_PATIENCE_MS = 10_000;
/** Matches the part of version 2 that is delegated to a user, if this process is in it (systemd, "Delegation"). */
const DELEGATED = /^0::(\/.*\/user@\d+\.service)(?:\/|$)/m;
const NAME = /^(.+)~([0-9a-f]+)$/;

/** Where groups can be made on a machine, by controller, or why limits are not possible. */
export type CgroupHierarchy =
  | { version: 1 | 2; roots: Readonly<Record<Controller, string>> }
  | { version: undefined; problem: string };

/**
 * Finds the hierarchies, and creates ptc's folder in them: at their top or, for a user to whom systemd has delegated a part of
 * version 2, at the top of that part.
 *
 * @param mounts the text of /proc/self/mounts.
 * @param own the text of /proc/self/cgroup.
 */
export function findCgroups(
  mounts = readIfThere("/proc/self/mounts") ?? "",
  own = readIfThere("/proc/self/cgroup") ?? "",
): CgroupHierarchy {
  const found = new Map<string, string>();
  let unified: string | undefined;
  for (const line of mounts.split("\n")) {
    const [, path = "", type, options = ""] = line.split(" ");
    if (type === "cgroup2") unified ??= path;
    if (type !== "cgroup") continue;
    for (const option of options.split(",")) found.set(option, path);
  }
  const [memory, pids, cpu] = CONTROLLERS.map((name) => found.get(name));
  try {
    if (memory !== undefined && pids !== undefined && cpu !== undefined)
      return { version: 1, roots: makeFolders({ memory, pids, cpu }) };
    if (unified === undefined) return none("no cgroups are mounted here");
    const top = join(unified, DELEGATED.exec(own)?.[1] ?? "");
    const roots = makeFolders({ memory: top, pids: top, cpu: top });
    for (const folder of [top, roots.memory])
      writeFileSync(join(folder, "cgroup.subtree_control"), CONTROLLERS.map((name) => `+${name}`).join(" "));
    return { version: 2, roots };
  } catch (error) {
    return none(messageOf(error));
  }
}

function none(problem: string): CgroupHierarchy {
  return { version: undefined, problem };
}

function makeFolders(mounted: Record<Controller, string>): Record<Controller, string> {
  const entries = CONTROLLERS.map((name): [Controller, string] => [name, join(mounted[name], OWN)]);
  for (const [, path] of entries) {
    mkdirSync(path, { recursive: true });
    // It may exist and belong to root.
    accessSync(path, constants.W_OK);
  }
  return Object.fromEntries(entries) as Record<Controller, string>;
}

/** The cgroup of one sandbox. */
export class SandboxGroup {
  readonly #version: 1 | 2;
  readonly #folders: Readonly<Record<Controller, string>>;

  private constructor(version: 1 | 2, folders: Record<Controller, string>) {
    this.#version = version;
    this.#folders = folders;
  }

  /** Creates the group with its limits. @throws an error of the file system, after removing everything. */
  static make(
    { version, roots }: Extract<CgroupHierarchy, { version: 1 | 2 }>,
    { owner, id }: { owner: string; id: string },
    { memoryBytes, hostTasks, cpus }: Pick<SandboxProfile, "memoryBytes" | "hostTasks" | "cpus">,
  ): SandboxGroup {
    const folderOf = (name: Controller): [Controller, string] => [name, join(roots[name], `${owner}~${id}`)];
    const folders = Object.fromEntries(CONTROLLERS.map(folderOf)) as Record<Controller, string>;
    const group = new SandboxGroup(version, folders);
    const quota = Math.round(cpus * PERIOD_US);
    try {
      for (const path of new Set(Object.values(folders))) mkdirSync(path);
      if (version === 1) {
        group.#write("memory", "memory.limit_in_bytes", memoryBytes);
        // Absent if the kernel does not account for swap.
        group.#tryWrite("memory", "memory.memsw.limit_in_bytes", memoryBytes);
        group.#write("pids", "pids.max", hostTasks);
        group.#write("cpu", "cpu.cfs_period_us", PERIOD_US);
        group.#write("cpu", "cpu.cfs_quota_us", quota);
      } else {
        group.#write("memory", "memory.max", memoryBytes);
        group.#tryWrite("memory", "memory.swap.max", 0);
        // The kernel of a sandbox and its processes live and die together.
        group.#write("memory", "memory.oom.group", 1);
        group.#write("pids", "pids.max", hostTasks);
        group.#write("cpu", "cpu.max", `${quota} ${PERIOD_US}`);
      }
      return group;
    } catch (error) {
      group.#removeNow();
      throw error;
    }
  }

  /** The files to which a process writes 0 to enter the group, with everything it starts from then on. */
  get entrances(): string[] {
    return this.#paths.map((path) => join(path, "cgroup.procs"));
  }

  /** Whether the kernel ended a process of the group because the group's memory was full. */
  hasRunOutOfMemory(): boolean {
    const file = this.#version === 1 ? "memory.oom_control" : "memory.events";
    const text = readIfThere(join(this.#folders.memory, file)) ?? "";
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0) > 0;
  }

  /** Kills everything left in the group and removes it. Never rejects. */
  async remove(): Promise<void> {
    const until = Date.now() + REMOVAL_PATIENCE_MS;
    while (!this.#removeNow() && Date.now() < until) await delay(REMOVAL_LOOK_MS);
  }

  /** @returns whether it is gone. */
  #removeNow(): boolean {
    return this.#paths.map(removeGroup).every((isGone) => isGone);
  }

  get #paths(): string[] {
    return [...new Set(Object.values(this.#folders))];
  }

  #write(name: Controller, file: string, value: string | number): void {
    writeFileSync(join(this.#folders[name], file), String(value));
  }

  #tryWrite(name: Controller, file: string, value: number): void {
    try {
      this.#write(name, file, value);
    } catch {
      // The kernel has no such limit.
    }
  }

  /** Whether no process is in the group. */
  isEmpty(): boolean {
    return this.entrances.every((path) => (readIfThere(path) ?? "").trim() === "");
  }

  /** Removes the group of a sandbox whose ptc has ended. Leaves a group that may be about to be used. */
  removeAbandoned(): void {
    const isOld = this.#paths.every((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found === undefined || Date.now() - found.mtimeMs > ABANDONED_MS;
    });
    if (isOld) this.#removeNow();
  }

  /** The groups of all ptc processes. */
  static list({ version, roots }: Extract<CgroupHierarchy, { version: 1 | 2 }>): ListedGroup[] {
    const names = new Set([...new Set(Object.values(roots))].flatMap((root) => foldersIn(root)));
    return [...names].flatMap((name) => {
      const [, owner, id] = NAME.exec(name) ?? [];
      if (owner === undefined || id === undefined) return [];
      const folders = CONTROLLERS.map((each): [Controller, string] => [each, join(roots[each], name)]);
      const group = new SandboxGroup(version, Object.fromEntries(folders) as Record<Controller, string>);
      return [{ id, owner, group }];
    });
  }

  /** The group of a sandbox of any ptc process; undefined if there is none. */
  static find(hierarchy: Extract<CgroupHierarchy, { version: 1 | 2 }>, id: string): SandboxGroup | undefined {
    return SandboxGroup.list(hierarchy).find((listed) => listed.id === id)?.group;
  }
}

interface ListedGroup {
  id: string;
  owner: string;
  group: SandboxGroup;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function foldersIn(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
  } catch {
    return [];
  }
}

function removeGroup(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return true;
    killAll(path);
    return false;
  }
}

function killAll(path: string): void {
  try {
    for (const pid of readFileSync(join(path, "cgroup.procs"), "utf8").split("\n"))
      if (pid !== "" && pid !== "0") process.kill(Number(pid), "SIGKILL");
  } catch {
    // It has ended.
  }
}
