import type { Readable } from "node:stream";
import { streamProcess } from "./run-process.ts";

/**
 * Packs a directory into a tar stream. The same files give the same bytes: entries are sorted, owned by root, dated 1970 and
 * readable for everybody, whatever the umask, and setuid bits are dropped. Needs GNU tar. `ended` rejects when it fails.
 */
export function packDirectory(directory: string): { tar: Readable; ended: Promise<void> } {
  const { output, ended } = streamProcess("tar", [
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
