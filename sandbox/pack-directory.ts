import type { Readable } from "node:stream";
import { streamCommand } from "./run-command.ts";

/**
 * A directory as a tar stream. Same files, same bytes: sorted, owned by root, dated 1970, readable for everybody
 * (whatever the umask was), and no file lends its owner's rights. Needs GNU tar. `ended` rejects when it fails.
 */
export function packDirectory(directory: string): { tar: Readable; ended: Promise<void> } {
  const { output, ended } = streamCommand("tar", [
    "--create",
    "--format=gnu",
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=ug-s,a+rX",
    `--directory=${directory}`,
    ".",
  ]);
  return { tar: output, ended };
}
