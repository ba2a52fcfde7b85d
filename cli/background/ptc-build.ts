import { realpathSync, statSync } from "node:fs";

/** Tells one installed ptc from another, and from itself after an update. @param entry the file of the `ptc` command. */
export function describeBuild(entry: string): string {
  const path = realpathSync(entry);
  const { mtimeNs, size } = statSync(path, { bigint: true });
  return [path, mtimeNs, size, process.execPath, process.version].join(" ");
}
