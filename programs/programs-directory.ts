import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileVersion } from "../catalog/store/own-file.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { byCodeUnit } from "../protocol/canonical-json.ts";
import { PROGRAMS_MODULE } from "../protocol/tool-names.ts";

/** The folder of saved programs, beside the configuration file. */
export function programsDirectory({ directory }: Pick<Configuration, "directory">): string {
  return join(directory, PROGRAMS_MODULE);
}

/** A text that changes whenever the folder does; `undefined` without a folder, at the cost of one file system call. */
export function programsVersion(configuration: Pick<Configuration, "directory">): string | undefined {
  const directory = programsDirectory(configuration);
  if (fileVersion(directory) === undefined) return undefined;
  const files = listFiles(directory).sort(byCodeUnit);
  return files.map((file) => `${file} ${fileVersion(join(directory, file))}`).join("\n");
}

/** The files of a folder of saved programs; empty if it cannot be read. */
export function listFiles(directory: string): string[] {
  try {
    return readdirSync(directory).filter((file) => !file.startsWith("."));
  } catch {
    return [];
  }
}
