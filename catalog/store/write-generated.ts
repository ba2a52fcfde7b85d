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
 * Writes generated files so that a crash or a full disk leaves the old tree or the new one. New files are written in full to
 * a folder beside the old ones. Renaming that folder to `.ptc-commit` decides the write. From then on this process, or the
 * next that reads or writes here, carries it out by renaming files into their places.
 */
const COMMIT = ".ptc-commit";
const STAGING = ".ptc-staging-";

/** Age at which staged files are those of a process that crashed, not of one at work. */
const ABANDONED_AFTER_MS = 10 * 60 * 1000;

/** The paths that ptc may write, where nobody else has. Everything else in the folder is somebody's, and stays. */
const OWN_PATH =
  /^(?:servers\/[a-z0-9_]{1,128}\/(?:index\.ts|__init__\.pyi)|servers\/__init__\.pyi|programs\/(?:index\.ts|__init__\.pyi)|[a-z_]{1,64}\.pyi|(?:runtime|globals|\.node)\.d\.ts|(?:ts|pyright)config\.json|catalog\.json|learned\.json|ptc\.lock\.json)$/;

const Journal = z.strictObject({
  /** Staged file by the path it goes to. */
  write: z.array(z.strictObject({ staged: z.string().regex(/^\d+$/), path: z.string().regex(OWN_PATH) })),
  remove: z.array(z.string().regex(OWN_PATH)),
});
type Journal = z.infer<typeof Journal>;

const JOURNAL_LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 4 };

/**
 * Makes the files of ptc in `dir` exactly `files`. Only files that ptc wrote are replaced or removed, which the lock in the
 * folder tells. Files whose bytes are equal are not touched.
 *
 * @throws CatalogError for a path that is not ptc's, a folder or a file that somebody else made, links, and when writing
 * fails. Nothing is written then.
 */
export async function writeGenerated(dir: string, files: ReadonlyMap<string, string>): Promise<WrittenFiles> {
  for (const path of files.keys()) {
    if (!OWN_PATH.test(path))
      throw new CatalogError("unsafe-path", `'${path}' is not a path that ptc writes`);
  }
  if ((await statusOf(dir))?.isSymbolicLink())
    throw new CatalogError(
      "unsafe-path",
      `${dir} is a link, and ptc writes to no folder but the one it is given: name that`,
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

/** Carries out a write that was decided, if there is one. It may be done again, also after it was interrupted. */
export async function finishCommit(dir: string): Promise<void> {
  const commit = join(dir, COMMIT);
  if ((await statusOf(commit)) === undefined) return;
  if ((await statusOf(dir))?.isSymbolicLink()) {
    const message = `${dir} is a link, through which ptc does not write; ${COMMIT} in it was not carried out: remove it`;
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
    const message = `${commit} cannot be carried out: check permissions and space, then run \`ptc generate\``;
    throw new CatalogError("write-failed", message, { cause });
  }
}

/** What modules are called in the folder of their server. */
const MODULE_FILES = ["index.ts", "__init__.pyi"];

function inServers(path: string): string {
  return `servers/${path}`;
}

/** The files of ptc that are there, and nothing that a crash left unfinished. */
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

/** Only regular files are moved, replaced and removed. */
async function refuseOthers(path: string): Promise<void> {
  const status = await statusOf(path);
  if (status === undefined || status.isFile()) return;
  throw new CatalogError(
    "unsafe-path",
    `${path} is a link or no regular file: remove it and run \`ptc generate\``,
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
