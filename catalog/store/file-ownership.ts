import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { textDigest } from "../../base/text-digest.ts";
import { CatalogError } from "../catalog-error.ts";
import { LEARNED_FILE } from "../learned/learned-types.ts";
import { modulePath } from "./lockfile.ts";
import { readOwnFile } from "./own-file.ts";
import { LOCK, readLock } from "./read-lock.ts";

/** What a write does to the files of a folder, by path. */
export interface WrittenFiles {
  written: string[];
  removed: string[];
  /** Those of `written` that somebody had edited since ptc wrote them. */
  edited: string[];
  /** Left as they are: files that are no longer of use, but that somebody edited since ptc wrote them. */
  left: string[];
}

const CATALOG = "catalog.json";
const FIXED: ReadonlySet<string> = new Set([
  "runtime.d.ts",
  "globals.d.ts",
  ".node.d.ts",
  "tsconfig.json",
  CATALOG,
  LEARNED_FILE,
  LOCK,
]);

/**
 * Decides which files in a folder are ptc's to replace or to remove. A file is ptc's when the lock has its digest. One that
 * the lock names and that was edited is replaced and named in the outcome, but not removed. Where there is no digest, because
 * the lock is lost or of an earlier version, a file is ptc's when it begins with the comment that everything generated has.
 *
 * @param present paths in the folder that ptc might have written.
 * @param files what is to be there, by path.
 * @throws CatalogError for a folder that is not ptc's, and for a file in the place of one to be written that is not.
 */
export async function judgeFiles(
  dir: string,
  present: readonly string[],
  files: ReadonlyMap<string, string>,
): Promise<WrittenFiles> {
  const known = await knownFiles(dir, present);
  const outcome: WrittenFiles = { written: [], removed: [], edited: [], left: [] };
  for (const [path, wanted] of files) {
    const text = present.includes(path) ? await readUnlessTooLarge(dir, path) : undefined;
    if (text?.equals(Buffer.from(wanted))) continue;
    outcome.written.push(path);
    if (!present.includes(path) || path === LOCK) continue;
    const digest = known.get(path);
    if (digest !== undefined && text !== undefined && textDigest(text) === digest) continue;
    const isOurs = text !== undefined && (hasHeader(text) || path === CATALOG || path === LEARNED_FILE);
    if (!known.has(path) && !isOurs) {
      const message = `${join(dir, path)} is not a file that ptc wrote, so nothing was written: move it away, or name another folder with --out`;
      throw new CatalogError("unsafe-path", message);
    }
    if (digest !== undefined || !isOurs) outcome.edited.push(path);
  }
  for (const path of present) {
    if (files.has(path) || !known.has(path)) continue;
    const text = await readOwnFile(dir, path).catch(() => undefined);
    const isOurs = text !== undefined && isGenerated(text, known.get(path));
    outcome[isOurs ? "removed" : "left"].push(path);
  }
  return outcome;
}

/** The files that ptc wrote, by path, with their digests where those are known. @throws CatalogError */
async function knownFiles(
  dir: string,
  present: readonly string[],
): Promise<ReadonlyMap<string, string | undefined>> {
  const lock = await readLock(dir).catch((error: unknown) => {
    if (error instanceof CatalogError && (error.code === "broken" || error.code === "too-large"))
      return undefined;
    throw error;
  });
  if (lock === undefined) await refuseForeignFolder(dir, present);
  const known = new Map<string, string | undefined>();
  for (const path of FIXED) known.set(path, lock?.files?.get(path));
  for (const [path, digest] of lock?.files ?? []) known.set(path, digest);
  for (const { module, moduleSha256 } of lock?.servers.values() ?? []) {
    known.set(modulePath(module), moduleSha256);
  }
  return known;
}

/** A folder without a lock is ptc's when it is empty, or when something generated is in it. */
async function refuseForeignFolder(dir: string, present: readonly string[]): Promise<void> {
  const names = await readdir(dir).catch(() => []);
  if (names.every((name) => name.startsWith("."))) return;
  for (const path of present) {
    if (path === CATALOG || path === LOCK || path === LEARNED_FILE) continue;
    const text = await readOwnFile(dir, path).catch(() => undefined);
    if (text !== undefined && hasHeader(text)) return;
  }
  const message = `${dir} holds files and no ${LOCK} of ptc's, so nothing was written there: name a new or empty folder with --out`;
  throw new CatalogError("unsafe-path", message);
}

/** The file's text; `undefined` also for a file that is larger than any that ptc writes. */
async function readUnlessTooLarge(dir: string, path: string): Promise<Buffer | undefined> {
  try {
    return await readOwnFile(dir, path);
  } catch (error) {
    if (error instanceof CatalogError && error.code === "too-large") return undefined;
    throw error;
  }
}

const HEADER_END = "Written by `ptc generate`: edits are lost.";
const MAX_HEADER_BYTES = 64 * 1024;

/** Whether a text is what ptc wrote, by the lock's digest of it, or, where the lock has none, by its first lines. */
export function isGenerated(text: Buffer, digest: string | undefined): boolean {
  return digest === undefined ? hasHeader(text) : textDigest(text) === digest;
}

/** Whether a text begins with the comment that all generated modules and declarations have, those of earlier versions too. */
function hasHeader(text: Buffer): boolean {
  const start = text.subarray(0, MAX_HEADER_BYTES).toString();
  const [opening, closing] = start.startsWith('"""') ? ['"""', '"""'] : ["/**", "*/"];
  const end = start.indexOf(closing, opening.length);
  return start.startsWith(opening) && end >= 0 && start.slice(0, end).trimEnd().endsWith(HEADER_END);
}
