import { stat } from "node:fs/promises";

/** Changes whenever a file is written anew; `undefined` while there is none. */
export async function fileVersion(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeMs } = await stat(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return undefined;
  }
}
