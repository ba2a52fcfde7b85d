import { randomUUID } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";

/** Only the user may read the draft. It is on the disk before it gets its name, so that a loss of power leaves no empty file. */
const OWN = { mode: 0o600, flag: "wx", flush: true } as const;

/**
 * Writes a file that only the user may read, in one step: readers see the old file or the new one, and a failure leaves the old one. The
 * folder must exist. Writers that change what the file holds take a lock ({@link lockFile} of `lock-file.ts`) around reading and writing.
 *
 * @throws Error of the file system, with a `code`.
 */
export async function writePrivateFile(path: string, content: string | Uint8Array): Promise<void> {
  const draft = draftOf(path);
  try {
    await writeFile(draft, content, OWN);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
}

/** The same as {@link writePrivateFile}, for code that cannot wait. @throws Error of the file system, with a `code`. */
export function writePrivateFileSync(path: string, content: string | Uint8Array): void {
  const draft = draftOf(path);
  try {
    writeFileSync(draft, content, OWN);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function draftOf(path: string): string {
  return `${path}.${randomUUID()}.draft`;
}
