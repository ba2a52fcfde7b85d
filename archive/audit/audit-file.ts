/**
 * The files of the audit log. All access is synchronous: the answer to a run waits for it, each step takes microseconds, and on a
 * busy machine every turn of the event loop takes long.
 */

import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { whyFolderIsUnsafe } from "../../base/unsafe-folder.ts";
import { hideFromGit } from "../../system/private-folder.ts";

const LINE_FEED = 0x0a;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;

/** Does not follow a symbolic link in the last part of the path (open(2), O_NOFOLLOW), and does not block on a pipe. */
const APPEND =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Creates the folder of a file, and hides it from git.
 *
 * @throws Error for a folder that cannot be created, or that another user may control.
 */
export function prepareFolder(path: string): void {
  const folder = dirname(path);
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { mode, uid } = statSync(folder);
  const status = { isLink: lstatSync(folder).isSymbolicLink(), mode, uid };
  const problem = whyFolderIsUnsafe(folder, status, process.getuid?.());
  if (problem !== undefined) throw new Error(`its folder ${problem.what}: ${problem.advice}`);
  hideFromGit(folder, made !== undefined);
}

/** Opens a file and returns its descriptor. @throws Error for a file that cannot be opened, or that another user may control. */
export function openForAppend(path: string): number {
  const file = openUnfollowed(path);
  try {
    checkOwn(file);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function openUnfollowed(path: string): number {
  try {
    return openSync(path, APPEND, PRIVATE_FILE);
  } catch (error) {
    const isLink = error instanceof Error && "code" in error && error.code === "ELOOP";
    throw isLink ? new Error("it is a symbolic link, which is not followed: remove it") : error;
  }
}

/** Removes other users' permissions from a file. @throws Error unless it is a regular file with one link that this user owns. */
export function checkOwn(file: number): void {
  const status = fstatSync(file);
  if (!status.isFile()) throw new Error("it is not a regular file: remove it");
  if (process.getuid !== undefined && status.uid !== process.getuid()) {
    throw new Error("it belongs to another user: move it away");
  }
  if (status.nlink > 1) throw new Error("it has a second name elsewhere: remove one of its names");
  if ((status.mode & OTHERS) !== 0) fchmodSync(file, PRIVATE_FILE);
}

/** Whether a file is empty, or ends with a whole line. */
export function endsWithLineFeed(file: number, size: number): boolean {
  if (size === 0) return true;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, size - 1);
  return last[0] === LINE_FEED;
}
