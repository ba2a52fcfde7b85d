import { lstatSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/** The folder beside ptc.yaml for the user's private files. */
export const PRIVATE_FOLDER_NAME = ".ptc";

const EVERYTHING = "# Runs of this machine's user: private, and of no use to others.\n*\n";

/**
 * Hides a folder of private files from git, if ptc has just created it or it is ptc's usual folder. Keeps an existing
 * `.gitignore`. Writes none through a link, because the target may contain other files. Never throws, because a missing
 * `.gitignore` must not prevent archiving.
 */
export function hideFromGit(folder: string, isNew: boolean): void {
  if (!isNew && basename(folder) !== PRIVATE_FOLDER_NAME) return;
  try {
    if (lstatSync(folder).isSymbolicLink()) return;
    writeFileSync(join(folder, ".gitignore"), EVERYTHING, { flag: "wx", mode: 0o600 });
  } catch {
    // The file exists, or the disk is full, which the next write to the folder reports.
  }
}
