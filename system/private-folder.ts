import { lstatSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/** The folder beside ptc.yaml for the user's private files. */
export const PRIVATE_FOLDER_NAME = ".ptc";

const EVERYTHING = "# Runs of this machine's user: private, and of no use to others.\n*\n";

/**
 * Hides a folder of private files from git: one that ptc has just made, and its usual one in any case. A `.gitignore` that is
 * there stays, and none is put into a folder to which a link leads: what else is there is not ptc's to hide. One that cannot be written is no reason to keep no runs, so nothing is thrown.
 */
export function hideFromGit(folder: string, isNew: boolean): void {
  if (!isNew && basename(folder) !== PRIVATE_FOLDER_NAME) return;
  try {
    if (lstatSync(folder).isSymbolicLink()) return;
    writeFileSync(join(folder, ".gitignore"), EVERYTHING, { flag: "wx", mode: 0o600 });
  } catch {
    // It is there, or the disk is full, which is reported for the file that the folder is for.
  }
}
