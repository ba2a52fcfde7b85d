import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { ArchiveError } from "./archive-error.ts";

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;
const WRITABLE_BY_ALL = 0o002;
const STICKY = 0o1000;

/** What SQLite keeps beside a database. It gives them the permissions of the database itself. */
const COMPANIONS = ["-wal", "-shm", "-journal"];

/**
 * Makes sure that the file of a database is there and is its owner's alone, whatever the umask: folders that are made
 * get 0700, files 0600. Nothing is followed or trusted that somebody else could have put there.
 *
 * @throws ArchiveError `unsafe` for links, other people's files and folders that everybody may write; `unwritable`.
 */
export function preparePrivateFile(path: string): void {
  const folder = dirname(path);
  try {
    const made = mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    if (made !== undefined) chmodSync(folder, PRIVATE_FOLDER);
    const status = statSync(folder);
    if ((status.mode & WRITABLE_BY_ALL) !== 0 && (status.mode & STICKY) === 0) {
      throw unsafe(folder, "may be written by everybody", `chmod 700 ${folder}`);
    }
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

function create(path: string): void {
  try {
    closeSync(openSync(path, "wx", PRIVATE_FILE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * By path and not by descriptor: closing a descriptor of a file gives up every lock (POSIX) that this process has on it,
 * those of SQLite's connections included.
 */
function makePrivate(path: string): void {
  const status = statusOf(path);
  if (status === undefined) return;
  if (!status.isFile()) throw unsafe(path, "is not a regular file", "remove it");
  if (process.getuid !== undefined && status.uid !== process.getuid()) {
    throw unsafe(path, "belongs to another user", "give archive.path another file");
  }
  if (status.nlink > 1) throw unsafe(path, "has a second name elsewhere", "remove one of its names");
  if ((status.mode & OTHERS) !== 0) chmodSync(path, PRIVATE_FILE);
}

function statusOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function unsafe(path: string, what: string, advice: string): ArchiveError {
  return new ArchiveError("unsafe", `${path} ${what}, so nothing is archived there: ${advice}`);
}
