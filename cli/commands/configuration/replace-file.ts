import { randomUUID } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, relative } from "node:path";
import { visibleLine } from "../../../base/visible-text.ts";
import { linkOutOf } from "../../../system/link-out-of.ts";
import { UsageError } from "../../exit-code.ts";

/** Somebody has edited a file between reading and writing it. */
export class EditedMeanwhileError extends UsageError {}

/**
 * Refuses a file of a folder to which a link in the folder leads out of it.
 *
 * @throws UsageError
 */
export function refuseLinkOut(folder: string, path: string): void {
  const link = linkOutOf(folder, path);
  if (link === undefined) return;
  const shown = visibleLine(relative(folder, link));
  throw new UsageError(
    `${shown} is a link that leads out of this folder, and nothing was written through it; remove it`,
  );
}

/**
 * Writes the whole file or nothing, through a symbolic link too. Without a text, the file is removed.
 *
 * @param before what the file had when it was read; `undefined` where there was none.
 * @throws EditedMeanwhileError
 * @throws UsageError when it cannot be written.
 */
export async function replaceFile(
  path: string,
  before: string | undefined,
  next: string | undefined,
): Promise<void> {
  try {
    if (before === undefined) {
      if (next === undefined) return;
      await mkdir(dirname(path), { recursive: true });
      return await writeFile(path, next, { flag: "wx" });
    }
    const real = realpathSync(path);
    if ((await readFile(real, "utf8")) !== before)
      throw new EditedMeanwhileError(`${basename(path)} was edited meanwhile, and stays as it is; try again`);
    if (next === undefined) return await rm(real);
    const draft = `${real}.${randomUUID()}`;
    try {
      await writeFile(draft, next, { flag: "wx", mode: statSync(real).mode & 0o777 });
      await rename(draft, real);
    } finally {
      await rm(draft, { force: true });
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${basename(path)} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}
