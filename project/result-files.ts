/** What a run leaves in files that its user named: the result, and what the program emitted. */

import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { messageOf } from "../base/faults.ts";
import { jsonLine } from "../base/json.ts";
import { oneLine, visibleLine } from "../base/visible-text.ts";
import { contentOf, describeEmitted } from "../execution/output/emitted-blocks.ts";
import type { ExecutedProgram } from "../execution/output/executed-run.ts";
import type { EmittedBlock } from "../protocol/emitted.ts";
import { emittedLine } from "../server/reports/run-overview.ts";
import { Refusal } from "./refusal.ts";

/**
 * Before the program runs, refuses a result file that could not be written, or that the run reads.
 *
 * @param read the program's file and its input files.
 * @throws Refusal
 */
export async function refuseOut(
  file: string,
  read: readonly (string | undefined)[],
  cwd: string,
): Promise<void> {
  const path = resolve(cwd, file);
  const shown = visibleLine(file);
  const folder = await stat(dirname(path)).catch(() => undefined);
  if (folder?.isDirectory() !== true) throw new Refusal(`--out: ${shown}: there is no such folder`);
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined && !there.isFile())
    throw new Refusal(`--out: ${shown}: is there, and is no plain file; name another`);
  // Comparing inodes also finds another name of the same file.
  for (const each of read) {
    const other = each === undefined ? undefined : await stat(resolve(cwd, each)).catch(() => undefined);
    if (there !== undefined && other?.ino === there.ino && other.dev === there.dev)
      throw new Refusal(`--out: ${shown}: the run reads this file; name another`);
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

const MAX_LINE_CHARS = 300;
const MAX_NAME_CHARS = 80;

/** How files of common types end. */
const ENDINGS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/svg+xml": "svg",
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "application/json": "json",
  "application/pdf": "pdf",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
  text: "txt",
};

/**
 * Reports the blocks that a program emitted, one line each, and writes them to the folder, if one is given. Existing files stay as
 * they are. Also reports blocks that cannot be written.
 */
export async function reportEmitted(
  blocks: readonly EmittedBlock[],
  folder: string | undefined,
  tell: (line: string) => void,
): Promise<void> {
  for (const [index, block] of blocks.entries()) {
    const what = oneLine(emittedLine(block), MAX_LINE_CHARS);
    const content = contentOf(block);
    if (folder === undefined || content === undefined) {
      tell(`ptc: emitted: ${what}`);
      continue;
    }
    try {
      await mkdir(folder, { recursive: true });
      tell(`ptc: emitted: ${what}, to ${await writeNew(folder, fileName(block, index), content)}`);
    } catch (error) {
      tell(
        `ptc: emitted: ${what}; it cannot be written to ${folder}: ${oneLine(messageOf(error), MAX_LINE_CHARS)}`,
      );
    }
  }
}

async function writeNew(folder: string, name: string, content: Buffer): Promise<string> {
  for (let copy = 1; ; copy++) {
    const path = join(folder, copy === 1 ? name : name.replace(/(?=\.[^.]*$|$)/, `-${copy}`));
    try {
      await writeFile(path, content, { flag: "wx" });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || copy >= 1_000) throw error;
    }
  }
}

/** A plain name in the folder, whatever the program calls it. */
function fileName(block: EmittedBlock, index: number): string {
  const { name, what } = describeEmitted(block);
  const plain =
    name
      ?.replaceAll(/[^A-Za-z0-9._-]+/g, "_")
      .replace(/^[._-]+/, "")
      .slice(-MAX_NAME_CHARS) ?? "";
  if (/[A-Za-z0-9]/.test(plain)) return plain;
  const ending = ENDINGS[what.split(";", 1)[0] ?? ""];
  return `emitted-${index + 1}.${ending ?? "bin"}`;
}
