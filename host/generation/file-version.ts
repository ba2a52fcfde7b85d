import { lstat } from "node:fs/promises";

/** A text that changes whenever the file is rewritten; `undefined` while there is no file. */
export async function fileVersion(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeMs } = await lstat(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return undefined;
  }
}
