import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The folder that holds ptc's package.json, whether ptc runs from its sources or from what was built of them. */
export const packageDirectory = findPackage(import.meta.dirname);

export const version = (
  JSON.parse(readFileSync(join(packageDirectory, "package.json"), "utf8")) as { version: string }
).version;

function findPackage(start: string): string {
  for (let directory = start; ; directory = dirname(directory)) {
    if (existsSync(join(directory, "package.json"))) return directory;
  }
}
