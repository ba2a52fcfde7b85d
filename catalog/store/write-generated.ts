import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import { parseForeignJson } from "../../base/json/parse-json.ts";
import { CatalogError } from "../catalog-error.ts";
import { judgeFiles, type WrittenFiles } from "./file-ownership.ts";
import { readOwnFile, refuseLinks, statusOf } from "./own-file.ts";

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
