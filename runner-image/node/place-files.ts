import fs from "node:fs";
import { FILES_FOLDER } from "../../protocol/paths.ts";
import type { ProgramMessage } from "../../protocol/wire/messages.ts";

// Earlier programs of a session share this realm and may have replaced them.
const { mkdirSync, rmSync, writeFileSync } = fs;
const { from } = Buffer;

/**
 * Puts the files that the program was handed into its workspace. They are not writable, so that a program does not change one by
 * mistake; in a session, one of the same name takes the place of that of an earlier program. Rejects with what the program is told.
 */
export async function placeFiles(files: NonNullable<ProgramMessage["files"]>): Promise<void> {
  for (const { name, base64 } of files) {
    const path = `${FILES_FOLDER}/${name}`;
    try {
      mkdirSync(FILES_FOLDER, { recursive: true });
      rmSync(path, { force: true, recursive: true });
      writeFileSync(path, from(base64, "base64"), { mode: 0o444, flag: "wx" });
    } catch (error) {
      throw new Error(
        `the file files/${name} could not be copied into the sandbox: ${(error as Error).message}`,
      );
    }
  }
}
