import { randomBytes } from "node:crypto";
import { lstat, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { jsonLine } from "../../base/json.ts";
import { oneLine, visibleLine } from "../../base/visible-text.ts";
import type { ExecutedProgram } from "../../execution/output/executed-run.ts";
import { UsageError } from "../command.ts";

/**
 * Before the program runs, refuses a result file that could not be written, or that the run reads.
 *
 * @param read the program's file and its input files.
 * @throws UsageError
 */
export async function refuseOut(
  file: string,
  read: readonly (string | undefined)[],
  cwd: string,
): Promise<void> {
  const path = resolve(cwd, file);
  const shown = visibleLine(file);
  const folder = await stat(dirname(path)).catch(() => undefined);
  if (folder?.isDirectory() !== true) throw new UsageError(`--out: ${shown}: there is no such folder`);
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined && !there.isFile())
    throw new UsageError(`--out: ${shown}: is there, and is no plain file; name another`);
  // Comparing inodes also finds another name of the same file.
  for (const each of read) {
    const other = each === undefined ? undefined : await stat(resolve(cwd, each)).catch(() => undefined);
    if (there !== undefined && other?.ino === there.ino && other.dev === there.dev)
      throw new UsageError(`--out: ${shown}: the run reads this file; name another`);
  }
}

/**
 * Writes the result of a successful run in one step. An existing file is replaced whole, and stays as it is if the run or the writing
 * fails. Resolves with the reason if the result could not be written.
 */
export async function writeResult(executed: ExecutedProgram, path: string): Promise<string | undefined> {
  const { envelope } = executed;
  if (!envelope.result.ok) return undefined;
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}`);
  try {
    const mode = (await stat(path).catch(() => undefined))?.mode;
    const handle = await open(draft, "wx", mode === undefined ? 0o666 : mode & 0o777);
    try {
      await handle.writeFile(textOf(executed));
    } finally {
      await handle.close();
    }
    await rename(draft, path);
    return undefined;
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    return `the result could not be written to ${oneLine(path)} (${code}); \`ptc runs show ${envelope.run_id} --output\` prints it`;
  }
}

function textOf({ envelope: { result }, consoleText, resultFrom, wholeResultJson }: ExecutedProgram): string {
  if (!result.ok) return "";
  if (resultFrom === "console") return consoleText;
  const json = wholeResultJson ?? jsonLine(result.data);
  const value: unknown = json.startsWith('"') ? JSON.parse(json) : undefined;
  return typeof value === "string" ? value : `${json}\n`;
}
