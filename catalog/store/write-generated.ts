import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import { parseForeignJson } from "../../base/json.ts";
import { textDigest } from "../../protocol/canonical-json.ts";
import { CatalogError } from "../catalog-error.ts";
import { LEARNED_FILE } from "../learned/learned-types.ts";
import { readOwnFile, refuseLinks, statusOf } from "./own-file.ts";
import { LOCK, modulePath, readLock } from "./stored-catalog.ts";

/**
 * Writes generated files so that a crash or a full disk leaves either the old tree or the new one. First writes all new files to
 * a folder beside the old files. Renaming that folder to `.ptc-commit` decides the write. Then this process, or the next one that
 * reads or writes here, completes it by renaming the files into place.
 */
const COMMIT = ".ptc-commit";
const STAGING = ".ptc-staging-";

/** Staged files of this age belong to a crashed process, not to a running one. */
const ABANDONED_AFTER_MS = 10 * 60 * 1000;

/** Matches the paths that ptc may write unless somebody else has. Everything else in the folder stays. */
const OWN_PATH =
  /^(?:servers\/[a-z0-9_]{1,128}\/(?:index\.ts|__init__\.pyi)|servers\/__init__\.pyi|programs\/(?:index\.ts|__init__\.pyi)|[a-z_]{1,64}\.pyi|(?:runtime|globals|\.node)\.d\.ts|(?:ts|pyright)config\.json|catalog\.json|learned\.json|ptc\.lock\.json)$/;

const Journal = z.strictObject({
  /** The staged files with their target paths. */
  write: z.array(z.strictObject({ staged: z.string().regex(/^\d+$/), path: z.string().regex(OWN_PATH) })),
  remove: z.array(z.string().regex(OWN_PATH)),
});
type Journal = z.infer<typeof Journal>;

const JOURNAL_LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 4 };

/**
 * Makes the files of ptc in `dir` exactly `files`. Replaces or removes only files that ptc wrote according to the lock in the
 * folder. Does not touch files with equal bytes.
 *
 * @throws CatalogError for a path that is not ptc's, for folders and files of somebody else, for links, and if writing fails.
 *   Writes nothing in these cases.
 */
export async function writeGenerated(dir: string, files: ReadonlyMap<string, string>): Promise<WrittenFiles> {
  for (const path of files.keys()) {
    if (!OWN_PATH.test(path))
      throw new CatalogError("unsafe-path", `'${path}' is not a path that ptc writes`);
  }
  if ((await statusOf(dir))?.isSymbolicLink())
    throw new CatalogError(
      "unsafe-path",
      `${dir} is a link, and ptc writes only to the named folder itself: name the target`,
    );
  await finishCommit(dir);
  const outcome = await judgeFiles(dir, await listOwnFiles(dir), files);
  const { written, removed } = outcome;
  if (written.length + removed.length === 0) return outcome;
  const staging = join(dir, `${STAGING}${randomBytes(6).toString("hex")}`);
  try {
    await mkdir(staging, { recursive: true });
    const journal: Journal = { write: [], remove: removed };
    for (const path of written) {
      const staged = String(journal.write.length);
      await writeDurably(join(staging, staged), files.get(path) ?? "");
      journal.write.push({ staged, path });
    }
    await writeDurably(join(staging, "journal.json"), JSON.stringify(journal));
    await rename(staging, join(dir, COMMIT));
  } catch (cause) {
    await rm(staging, { recursive: true, force: true });
    const code = (cause as NodeJS.ErrnoException).code;
    const message = `generated files cannot be written to ${dir} (${code}); nothing was changed`;
    throw new CatalogError("write-failed", message, { cause });
  }
  await finishCommit(dir);
  return outcome;
}

/** Completes a write that was decided, if there is one. May be repeated, also after an interruption. */
export async function finishCommit(dir: string): Promise<void> {
  const commit = join(dir, COMMIT);
  if ((await statusOf(commit)) === undefined) return;
  if ((await statusOf(dir))?.isSymbolicLink()) {
    const message = `${dir} is a link, through which ptc does not write; ${COMMIT} in it was not completed: remove it`;
    throw new CatalogError("unsafe-path", message);
  }
  const text = await readOwnFile(dir, `${COMMIT}/journal.json`);
  if (text === undefined) return;
  try {
    const journal = Journal.parse(parseForeignJson(text, JOURNAL_LIMITS));
    for (const { staged, path } of journal.write) {
      await refuseOthers(join(commit, staged));
      await refuseOthers(join(dir, path));
      await refuseLinks(dir, path);
      await mkdir(dirname(join(dir, path)), { recursive: true });
      await rename(join(commit, staged), join(dir, path)).catch(ignoreMissing);
    }
    for (const path of journal.remove) {
      await refuseOthers(join(dir, path));
      await refuseLinks(dir, path);
      await rm(join(dir, path), { force: true });
      if (/^(?:servers|programs)\//.test(path)) await rmdir(dirname(join(dir, path))).catch(() => {});
    }
    await rm(commit, { recursive: true, force: true });
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause;
    const message = `${commit} cannot be completed: check permissions and space, then run \`ptc generate\``;
    throw new CatalogError("write-failed", message, { cause });
  }
}

/** The names of modules in the folder of their server. */
const MODULE_FILES = ["index.ts", "__init__.pyi"];

function inServers(path: string): string {
  return `servers/${path}`;
}

/** Lists the existing files of ptc, and removes abandoned staging folders. */
async function listOwnFiles(dir: string): Promise<string[]> {
  const top = await namesIn(dir);
  for (const name of top) {
    const age = Date.now() - ((await statusOf(join(dir, name)))?.mtimeMs ?? 0);
    if (name.startsWith(STAGING) && age > ABANDONED_AFTER_MS) {
      await rm(join(dir, name), { recursive: true, force: true });
    }
  }
  const modules = top.includes("servers") ? await namesIn(join(dir, "servers")) : [];
  const paths = [
    ...top,
    ...(top.includes("programs") ? MODULE_FILES.map((file) => `programs/${file}`) : []),
    ...modules.flatMap((name) => [name, ...MODULE_FILES.map((file) => `${name}/${file}`)]).map(inServers),
  ].filter((path) => OWN_PATH.test(path));
  const found: string[] = [];
  for (const path of paths) if ((await statusOf(join(dir, path))) !== undefined) found.push(path);
  return found;
}

/** Refuses everything except regular files, which alone are moved, replaced and removed. */
async function refuseOthers(path: string): Promise<void> {
  const status = await statusOf(path);
  if (status === undefined || status.isFile()) return;
  throw new CatalogError(
    "unsafe-path",
    `${path} is a link or not a regular file: remove it and run \`ptc generate\``,
  );
}

async function namesIn(dir: string): Promise<string[]> {
  return (await readdir(dir).catch(() => [])).sort();
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, "wx");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

function ignoreMissing(cause: NodeJS.ErrnoException): void {
  if (cause.code !== "ENOENT") throw cause;
}

/** The effects of a write on the files of a folder, by path. */
export interface WrittenFiles {
  written: string[];
  removed: string[];
  /** The paths in `written` that somebody had edited since ptc wrote them. */
  edited: string[];
  /** Files that are no longer needed but stay, because somebody edited them since ptc wrote them. */
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
 * Decides which files in a folder ptc may replace or remove. A file is ptc's if the lock has its digest. An edited file that the
 * lock names is replaced and named in the outcome, but not removed. Without a digest, because the lock is lost or of an earlier
 * version, a file is ptc's if it begins with the comment of generated files.
 *
 * @param present paths in the folder that ptc might have written.
 * @param files the wanted files, by path.
 * @throws CatalogError for a folder that is not ptc's, and for another file at the path of a wanted one.
 */
async function judgeFiles(
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

/** The files that ptc wrote, by path, with their digests if those are known. @throws CatalogError */
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

/** Refuses a folder without a lock, unless it is empty or contains a generated file. */
async function refuseForeignFolder(dir: string, present: readonly string[]): Promise<void> {
  const names = await readdir(dir).catch(() => []);
  if (names.every((name) => name.startsWith("."))) return;
  for (const path of present) {
    if (path === CATALOG || path === LOCK || path === LEARNED_FILE) continue;
    const text = await readOwnFile(dir, path).catch(() => undefined);
    if (text !== undefined && hasHeader(text)) return;
  }
  const message = `${dir} contains files but no ${LOCK} of ptc, so nothing was written there: name a new or empty folder with --out`;
  throw new CatalogError("unsafe-path", message);
}

/** The file's text, or `undefined` if it is missing or larger than any file that ptc writes. */
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

/** Whether ptc wrote a text, by the lock's digest of it, or if the lock has none, by its first lines. */
export function isGenerated(text: Buffer, digest: string | undefined): boolean {
  return digest === undefined ? hasHeader(text) : textDigest(text) === digest;
}

/** Whether a text begins with the comment of generated modules and declarations, also of earlier versions. */
function hasHeader(text: Buffer): boolean {
  const start = text.subarray(0, MAX_HEADER_BYTES).toString();
  const [opening, closing] = start.startsWith('"""') ? ['"""', '"""'] : ["/**", "*/"];
  const end = start.indexOf(closing, opening.length);
  return start.startsWith(opening) && end >= 0 && start.slice(0, end).trimEnd().endsWith(HEADER_END);
}
