import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, readdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import { CatalogError } from "./catalog-error.ts";

/**
 * Writing generated files so that a crash or a full disk leaves the old tree or the new one. New files are written in
 * full to a folder beside the old ones; renaming that folder to `.ptc-commit` decides the write; from then on it is
 * carried out, by this process or by the next that reads or writes here, by renaming files into their places.
 */
const COMMIT = ".ptc-commit";
const STAGING = ".ptc-staging-";

/** Age at which staged files are those of a process that crashed, not of one at work. */
const ABANDONED_AFTER_MS = 10 * 60 * 1000;

/** The paths that belong to ptc. Everything else in the folder is somebody's, and stays. */
const OWN_PATH =
  /^(?:servers\/[a-z0-9_]{1,128}\/index\.ts|runtime\.d\.ts|globals\.d\.ts|catalog\.json|ptc\.lock\.json)$/;

const Journal = z.strictObject({
  /** Staged file by the path it goes to. */
  write: z.array(z.strictObject({ staged: z.string().regex(/^\d+$/), path: z.string().regex(OWN_PATH) })),
  remove: z.array(z.string().regex(OWN_PATH)),
});
type Journal = z.infer<typeof Journal>;

/**
 * Makes the files of ptc in `dir` exactly `files`. Files whose bytes are equal are not touched. Returns the paths that
 * were written and removed.
 *
 * @throws CatalogError for a path that is not ptc's, for links that lead elsewhere, and when writing fails.
 */
export async function writeGenerated(
  dir: string,
  files: ReadonlyMap<string, string>,
): Promise<{ written: string[]; removed: string[] }> {
  for (const path of files.keys()) {
    if (!OWN_PATH.test(path))
      throw new CatalogError("unsafe-path", `'${path}' is not a path that ptc writes`);
  }
  await finishCommit(dir);
  for (const path of files.keys()) await refuseLinks(dir, path);
  const present = await listOwnFiles(dir);
  const removed = present.filter((path) => !files.has(path));
  const written: string[] = [];
  for (const [path, text] of files) {
    if (!(await holds(join(dir, path), text))) written.push(path);
  }
  if (written.length + removed.length === 0) return { written, removed };
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
    throw new CatalogError("write-failed", message, cause);
  }
  await finishCommit(dir);
  return { written, removed };
}

/** Carries out a write that was decided, if there is one. Doing so twice, or from where it stopped, is the same. */
export async function finishCommit(dir: string): Promise<void> {
  const commit = join(dir, COMMIT);
  let text: string;
  try {
    text = await readFile(join(commit, "journal.json"), "utf8");
  } catch {
    return;
  }
  try {
    const journal = Journal.parse(JSON.parse(text));
    for (const { staged, path } of journal.write) {
      await refuseLinks(dir, path);
      await mkdir(dirname(join(dir, path)), { recursive: true });
      await rename(join(commit, staged), join(dir, path)).catch(ignoreMissing);
    }
    for (const path of journal.remove) {
      await refuseLinks(dir, path);
      await rm(join(dir, path), { force: true });
      if (path.startsWith("servers/")) await rmdir(dirname(join(dir, path))).catch(() => {});
    }
    await rm(commit, { recursive: true, force: true });
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause;
    const message = `${commit} cannot be carried out: check permissions and space, then run \`ptc generate\``;
    throw new CatalogError("write-failed", message, cause);
  }
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
  const paths = [...top, ...modules.map((module) => `servers/${module}/index.ts`)].filter((path) =>
    OWN_PATH.test(path),
  );
  const found: string[] = [];
  for (const path of paths) {
    await refuseLinks(dir, path);
    if ((await statusOf(join(dir, path))) !== undefined) found.push(path);
  }
  return found;
}

/** No folder on the way to a file of ours may be a link: it could lead anywhere. */
async function refuseLinks(dir: string, path: string): Promise<void> {
  const folders = path.split("/").slice(0, -1);
  for (let i = 1; i <= folders.length; i++) {
    const folder = join(dir, ...folders.slice(0, i));
    const status = await statusOf(folder);
    if (status === undefined || status.isDirectory()) continue;
    throw new CatalogError("unsafe-path", `${folder} is not a folder: remove it and run \`ptc generate\``);
  }
}

async function statusOf(path: string) {
  return lstat(path).catch(() => undefined);
}

async function namesIn(dir: string): Promise<string[]> {
  return (await readdir(dir).catch(() => [])).sort();
}

async function holds(path: string, text: string): Promise<boolean> {
  const status = await statusOf(path);
  if (status === undefined || !status.isFile() || status.size !== Buffer.byteLength(text)) return false;
  return (await readFile(path, "utf8").catch(() => undefined)) === text;
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
