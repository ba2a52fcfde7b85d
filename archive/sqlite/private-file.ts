import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { whyFolderIsUnsafe } from "../../base/unsafe-folder.ts";
import { hideFromGit } from "../../system/private-folder.ts";
import { ArchiveError } from "../archive-error.ts";

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;

/** Files that SQLite keeps beside a database, with the permissions of the database. */
const COMPANIONS = ["-wal", "-shm", "-journal"];

/**
 * Makes sure that the file of a database exists and is private to its owner, whatever the umask: new folders get 0700, files
 * 0600. Does not follow links, and trusts nothing that another user could have put there.
 *
 * @throws ArchiveError `unsafe` for links, other users' files and world-writable folders, and `unwritable`.
 */
export function preparePrivateFile(path: string): void {
  const folder = dirname(path);
  try {
    const made = mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    if (made !== undefined) chmodSync(folder, PRIVATE_FOLDER);
    const { mode, uid } = statSync(folder);
    const isLink = statusOf(folder)?.isSymbolicLink() === true;
    const problem = whyFolderIsUnsafe(folder, { isLink, mode, uid }, process.getuid?.());
    if (problem !== undefined) throw unsafe(folder, problem.what, problem.advice);
    hideFromGit(folder, made !== undefined);
    if (statusOf(path) === undefined) create(path);
    for (const file of [path, ...COMPANIONS.map((suffix) => `${path}${suffix}`)]) makePrivate(file);
  } catch (cause) {
    if (cause instanceof ArchiveError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
    const full = code === "ENOSPC" || code === "EDQUOT";
    const what = full ? "its disk is full" : "check the permissions of its folder";
    const message = `the archive ${path} cannot be written (${code}): ${what}`;
    throw new ArchiveError(full ? "full" : "unwritable", message, cause);
  }
}

/**
 * Refuses to read a link or another file that is not regular, because its content would count as this archive's.
 *
 * @throws ArchiveError `unsafe`, or `unwritable` if its path leads nowhere.
 */
export function refuseOtherKinds(path: string): void {
  for (const file of [path, ...COMPANIONS.map((suffix) => `${path}${suffix}`)]) {
    let status: Stats | undefined;
    try {
      status = statusOf(file);
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
      throw new ArchiveError(
        "unwritable",
        `the archive ${path} cannot be opened (${code}): check the path`,
        cause,
      );
    }
    if (status?.isFile() === false) throw notRegular(file);
  }
}

/** Refuses a path whose folder, or nearest existing parent folder, is not writable. @throws ArchiveError `unwritable` */
export function refuseUnwritableFolder(path: string): void {
  let folder = dirname(path);
  while (statusOf(folder) === undefined && folder !== dirname(folder)) folder = dirname(folder);
  try {
    accessSync(`${folder}/`, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new ArchiveError(
      "unwritable",
      `the archive ${path} cannot be created: check the permissions of ${folder}`,
      cause,
    );
  }
}

function create(path: string): void {
  try {
    closeSync(openSync(path, "wx", PRIVATE_FILE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * Makes a file private to its owner. Works by path, because closing a descriptor of a file releases every POSIX lock that
 * this process has on it, including those of SQLite's connections.
 */
function makePrivate(path: string): void {
  const status = statusOf(path);
  if (status === undefined) return;
  if (!status.isFile()) throw notRegular(path);
  if (process.getuid !== undefined && status.uid !== process.getuid()) {
    throw unsafe(path, "belongs to another user", "give archive.path another file");
  }
  if (status.nlink > 1) throw unsafe(path, "has a second name elsewhere", "remove one of its names");
  if ((status.mode & OTHERS) !== 0) chmodSync(path, PRIVATE_FILE);
}

function statusOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function notRegular(path: string): ArchiveError {
  return unsafe(path, "is not a regular file", "remove it");
}

function unsafe(path: string, what: string, advice: string): ArchiveError {
  return new ArchiveError("unsafe", `${path} ${what}, so nothing is archived there: ${advice}`);
}
