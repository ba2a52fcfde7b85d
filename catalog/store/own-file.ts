import { constants, lstatSync } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { join } from "node:path";
import { CatalogError } from "../catalog-error.ts";

/** The size of the largest file that ptc writes or reads in its folder. */
export const MAX_OWN_FILE_BYTES = 128 * 1024 * 1024;

/**
 * Reads a file in ptc's folder, or resolves with `undefined` if there is none. Follows no links, neither of the file nor of
 * folders on the way to it, and reads only a regular file of bounded size.
 *
 * @param path a path within `dir`, with `/`.
 * @throws CatalogError
 */
export async function readOwnFile(dir: string, path: string): Promise<Buffer | undefined> {
  await refuseLinks(dir, path);
  const whole = join(dir, path);
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    const file = await open(whole, flags);
    try {
      const status = await file.stat();
      if (!status.isFile()) throw notAFile(whole);
      if (status.size > MAX_OWN_FILE_BYTES) throw tooLarge(whole);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(status.size + 1), 0, status.size + 1, 0);
      if (bytesRead > status.size)
        throw new CatalogError("unreadable", `${whole} changes while it is read: try again`);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP" || code === "EMLINK" || code === "ENXIO") throw notAFile(whole);
    throw new CatalogError("unreadable", `${whole} cannot be read (${code}): check its permissions`, {
      cause,
    });
  }
}

/** Refuses a path through a link, which could lead anywhere. @throws CatalogError */
export async function refuseLinks(dir: string, path: string): Promise<void> {
  const folders = path.split("/").slice(0, -1);
  for (let i = 1; i <= folders.length; i++) {
    const folder = join(dir, ...folders.slice(0, i));
    const status = await statusOf(folder);
    if (status === undefined || status.isDirectory()) continue;
    throw new CatalogError("unsafe-path", `${folder} is not a folder: remove it and run \`ptc generate\``);
  }
}

/** The status of a path, for a link that of the link itself. `undefined` if there is nothing. */
export async function statusOf(path: string) {
  return lstat(path).catch(() => undefined);
}

function notAFile(path: string): CatalogError {
  const message = `${path} is a link or not a regular file, which ptc does not read: remove it and run \`ptc generate\``;
  return new CatalogError("unsafe-path", message);
}

function tooLarge(path: string): CatalogError {
  const message = `${path} is larger than ${MAX_OWN_FILE_BYTES} bytes: delete it and run \`ptc generate\``;
  return new CatalogError("too-large", message);
}

/**
 * A text that changes whenever the file is rewritten. `undefined` while there is no file. ptc checks it before every program, and
 * the synchronous call takes a tenth of the time.
 */
export function fileVersion(path: string): string | undefined {
  try {
    const file = lstatSync(path, { throwIfNoEntry: false });
    return file && `${file.ino} ${file.size} ${file.mtimeMs}`;
  } catch {
    return undefined;
  }
}
