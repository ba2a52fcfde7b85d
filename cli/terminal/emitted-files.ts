import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../base/error-message.ts";
import { oneLine } from "../../base/text/one-line.ts";
import { contentOf, describeEmitted } from "../../execution/output/emitted-blocks.ts";
import { emittedLine } from "../../host/run-report/emitted-line.ts";
import type { EmittedBlock } from "../../protocol/output/emitted.ts";

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
 * Says what a program emitted, one line a block, and writes it to a folder, if there is one. A file that is there already is
 * left as it is. What cannot be written is said.
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
