import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EnvironmentVariables } from "./environment-variables.ts";
import { finishWithoutUs, ProcessGroups } from "./process-group.ts";
import { currentProcess, formatIdentity, isDead, type ProcessIdentity } from "./process-identity.ts";

/** The longest path of a Unix socket, without its final zero (`sun_path`). */
const MAX_SOCKET_PATH_BYTES = process.platform === "linux" ? 107 : 103;
/** The bytes of a socket's path after the identity of a process: the folder's number, a random name and the socket's name. */
const SOCKET_PATH_END = "-99/0123456789ab/broker.sock".length;
const SHORT_FOLDER = process.platform === "win32" ? tmpdir() : "/tmp";

/** The folders that are in use in this process. */
const inUse = new Set<string>();

/**
 * The folder of a running ptc, named after the identity of its process. A later ptc process finds the folders of dead processes
 * and cleans up after them. If one process has several such folders, all but the first have a number at the end.
 *
 *     <base>/<identity>/groups/    the process groups of servers
 *     <base>/<identity>/           also contains files that are mounted into sandboxes
 *     <base>/<identity>-2/         the second folder of the same process
 */
export class StateDirectory {
  readonly path: string;
  readonly groups: ProcessGroups;

  /**
   * @param base folder that all ptc processes of this user share. It is created private.
   * @throws StateDirectoryError when the folder belongs to somebody else.
   */
  constructor(base: string, identity: ProcessIdentity) {
    makePrivate(base);
    const first = join(base, formatIdentity(identity));
    let path = first;
    for (let number = 2; inUse.has(path); number++) path = `${first}-${number}`;
    inUse.add(path);
    this.path = path;
    mkdirSync(groupsFolder(this.path), { recursive: true });
    this.groups = new ProcessGroups(groupsFolder(this.path));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
    inUse.delete(this.path);
  }
}

/** The folder for this process's files cannot be created. The message says what to do. */
export class StateDirectoryError extends Error {
  override readonly name = "StateDirectoryError";
}

/** The identity of this process, and its folder on disk. */
export interface OwnProcess {
  state: StateDirectory;
  self: ProcessIdentity;
}

/** Cleans up after dead ptc processes, then creates this process's folder. @throws StateDirectoryError */
export function openState({ XDG_RUNTIME_DIR }: EnvironmentVariables): OwnProcess {
  const self = currentProcess();
  const base = stateFolder([XDG_RUNTIME_DIR || tmpdir(), tmpdir()], self);
  const state = new StateDirectory(base, self);
  sweepProcesses(base, self);
  return { state, self };
}

/** The folders that other ptc processes of this user may use, whatever their environment variables are. */
export function stateFolders({ XDG_RUNTIME_DIR }: EnvironmentVariables, self: ProcessIdentity): string[] {
  const uid = process.getuid?.() ?? 0;
  const parents = [XDG_RUNTIME_DIR || tmpdir(), `/run/user/${uid}`, tmpdir(), SHORT_FOLDER];
  const folders = parents.map((parent) => stateFolder([parent], self));
  return [...new Set(folders)].filter((folder) => isOwn(folder));
}

/** The folder of all ptc processes of this user, in the first parent that exists and leaves room for a socket's path. */
export function stateFolder(parents: readonly string[], self: ProcessIdentity): string {
  const own = `ptc-${process.getuid?.() ?? 0}`;
  const fits = (parent: string) => {
    const longest = join(parent, own, formatIdentity(self), "0".repeat(SOCKET_PATH_END));
    return existsSync(parent) && Buffer.byteLength(longest) <= MAX_SOCKET_PATH_BYTES;
  };
  return join(parents.find(fits) ?? SHORT_FOLDER, own);
}

/**
 * Cleans up after dead ptc processes of this user: kills the process groups of their servers, except that groups that may be
 * installing themselves may finish, and removes their folders. Leaves everything that belongs to a live process or to another
 * pid namespace.
 */
export function sweepProcesses(base: string, self: ProcessIdentity): void {
  for (const name of readdirSync(base).filter((identity) => isDead(identity, self))) {
    const folder = join(base, name);
    new ProcessGroups(groupsFolder(folder)).kill((pid) => finishWithoutUs(pid));
    rmSync(folder, { recursive: true, force: true });
  }
}

function groupsFolder(path: string): string {
  return join(path, "groups");
}

/** Whether a path is a folder of this user, and not a link. */
function isOwn(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && (process.getuid === undefined || stat.uid === process.getuid());
}

function makePrivate(base: string): void {
  mkdirSync(base, { recursive: true, mode: 0o700 });
  if (!isOwn(base)) {
    throw new StateDirectoryError(`${base} belongs to another user; remove it or set XDG_RUNTIME_DIR`);
  }
  chmodSync(base, 0o700);
}
