import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { lockFile } from "../../archive/lock-file.ts";
import { messageOf } from "../../base/error-message.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";

/** Age at which a staged file is that of a process that died, not of one at work. */
const ABANDONED_AFTER_MS = 10 * 60 * 1_000;

/**
 * Does some work on the folder of saved programs while no other ptc saves into it.
 *
 * @throws ConfigurationError when another does not let go of it, and what the work throws.
 */
export async function whileSaving<T>(
  { archive }: Pick<Configuration, "archive">,
  work: () => Promise<T>,
): Promise<T> {
  const folder = dirname(archive.path);
  const release = await lock(folder);
  try {
    return await work();
  } finally {
    release();
  }
}

async function lock(folder: string): Promise<() => void> {
  try {
    await mkdir(folder, { recursive: true });
    return await lockFile(join(folder, "programs.lock"));
  } catch (error) {
    throw new ConfigurationError("unreadable", `the program was not saved: ${messageOf(error)}`);
  }
}

/**
 * Makes some files of the folder what they should be: each is written whole beside its place and then renamed, the last one last,
 * and then others are removed. Where that fails, the files are as they were.
 *
 * @param texts by file; the last is the one that makes a program known.
 * @throws ConfigurationError
 */
export async function writeProgramFiles(
  directory: string,
  texts: ReadonlyMap<string, string>,
  removed: readonly string[],
): Promise<void> {
  const end = `.${randomBytes(6).toString("hex")}.tmp`;
  const staged = [...texts].map(([file, text]) => ({ file, text, path: join(directory, `.${file}${end}`) }));
  const before = new Map<string, Buffer | undefined>();
  try {
    await mkdir(directory, { recursive: true });
    await clearAbandoned(directory);
    for (const file of [...texts.keys(), ...removed])
      before.set(file, await contentOf(join(directory, file)));
    for (const { path, text } of staged) await writeFile(path, text, { flag: "wx" });
    for (const { path, file } of staged) await rename(path, join(directory, file));
    for (const file of removed) await rm(join(directory, file), { force: true });
  } catch (error) {
    await Promise.all(staged.map(({ path }) => rm(path, { force: true }).catch(() => {})));
    for (const [file, content] of before) await putBack(join(directory, file), content);
    throw new ConfigurationError("unreadable", `${directory}: cannot be written (${messageOf(error)})`);
  }
}

/** The bytes of a file; `undefined` where there is none. */
async function contentOf(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

async function putBack(path: string, content: Buffer | undefined): Promise<void> {
  try {
    if (content === undefined) await rm(path, { force: true });
    else if ((await contentOf(path))?.equals(content) !== true) await writeFile(path, content);
  } catch {
    // What cannot be written now could not be written before either, and is as it was.
  }
}

/** Removes what a ptc that was killed has left. */
async function clearAbandoned(directory: string): Promise<void> {
  for (const file of await readdir(directory)) {
    if (!/^\..*\.[0-9a-f]{12}\.tmp$/.test(file)) continue;
    const path = join(directory, file);
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now());
    if (age > ABANDONED_AFTER_MS) await rm(path, { force: true }).catch(() => {});
  }
}
