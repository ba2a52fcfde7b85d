import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  path: string;
  makeReadOnly(): void;
  remove(): void;
}

/** A disk of a few megabytes, where one may be mounted. */
export function mountSmallDisk(megabytes: number): SmallDisk | undefined {
  const path = mkdtempSync(join(tmpdir(), "ptc-archive-disk-"));
  const mount = (options: string) =>
    spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path]).status === 0;
  if (process.getuid?.() !== 0 || !mount(`size=${megabytes}m`)) {
    rmSync(path, { recursive: true });
    return undefined;
  }
  return {
    path,
    makeReadOnly: () => void spawnSync("mount", ["-o", "remount,ro", path]),
    remove: () => {
      // Lazily: a test that fails may have left something open.
      spawnSync("umount", ["-l", path]);
      rmSync(path, { recursive: true });
    },
  };
}
