import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { whyFolderIsUnsafe } from "../../base/unsafe-folder.ts";
import { hideFromGit } from "../private-folder.ts";

const LINE_FEED = 0x0a;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;

/** Does not follow a symbolic link in the last part of the path (open(2), O_NOFOLLOW), and does not block on a pipe. */
const APPEND =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Makes the folder of a file, and hides it. @throws Error for a folder that cannot be made, or that another user may control. */
export async function prepareFolder(path: string): Promise<void> {
  const folder = dirname(path);
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  const [{ mode, uid }, named] = await Promise.all([stat(folder), lstat(folder)]);
  const status = { isLink: named.isSymbolicLink(), mode, uid };
  const problem = whyFolderIsUnsafe(folder, status, process.getuid?.());
  if (problem !== undefined) throw new Error(`its folder ${problem.what}: ${problem.advice}`);
  hideFromGit(folder, made !== undefined);
}

/** @throws Error for a file that cannot be opened, or that another user may control. */
export async function openForAppend(path: string): Promise<FileHandle> {
  const file = await openUnfollowed(path);
  try {
    await checkOwn(file);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openUnfollowed(path: string): Promise<FileHandle> {
  try {
    return await open(path, APPEND, PRIVATE_FILE);
  } catch (error) {
    const isLink = error instanceof Error && "code" in error && error.code === "ELOOP";
    throw isLink ? new Error("it is a symbolic link, which is not followed: remove it") : error;
  }
}

/** Refuses all but a regular file with one link that this user owns, and removes the permissions of others. */
export async function checkOwn(file: FileHandle): Promise<void> {
  const status = await file.stat();
  if (!status.isFile()) throw new Error("it is not a regular file: remove it");
  if (process.getuid !== undefined && status.uid !== process.getuid()) {
    throw new Error("it belongs to another user: move it away");
  }
  if (status.nlink > 1) throw new Error("it has a second name elsewhere: remove one of its names");
  if ((status.mode & OTHERS) !== 0) await file.chmod(PRIVATE_FILE);
}

/** Whether a file is empty, or ends with a whole line. */
export async function endsWithLineFeed(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === LINE_FEED;
}
