import { lstatSync } from "node:fs";

/**
 * A text that changes whenever the file is rewritten; `undefined` while there is no file. It is asked for before every program,
 * and synchronously takes a tenth of the time.
 */
export function fileVersion(path: string): string | undefined {
  try {
    const file = lstatSync(path, { throwIfNoEntry: false });
    return file && `${file.ino} ${file.size} ${file.mtimeMs}`;
  } catch {
    return undefined;
  }
}
