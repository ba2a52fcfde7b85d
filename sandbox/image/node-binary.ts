import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProcess } from "./run-process.ts";

/** The version for the image when ptc was installed without development dependencies, which include a Node.js. */
export const fallbackNodeVersion = "24.21.0";
const major = "24.";

export interface NodeBinary {
  version: string;
  /** `undefined` when it must be fetched first. */
  path: string | undefined;
}

/** The Node.js for an image that is made without a registry: for this machine's architecture, from an npm package. */
export function findNodeBinary(): NodeBinary {
  try {
    const manifest = fileURLToPath(import.meta.resolve("node/package.json"));
    const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version?: unknown };
    if (typeof version === "string" && version.startsWith(major)) {
      return { version, path: join(dirname(manifest), "bin", "node") };
    }
  } catch {
    // The package is not installed, so it must be fetched.
  }
  return { version: fallbackNodeVersion, path: undefined };
}

/** Downloads `node-linux-<arch>` with npm, which is configured for its registry. Throws `build_failed`. */
export async function fetchNodeBinary(version: string, directory: string): Promise<string> {
  const packageName = `node-linux-${process.arch}@${version}`;
  await runProcess("npm", ["pack", "--silent", packageName, `--pack-destination=${directory}`], {
    cwd: directory,
  });
  const archive = (await readdir(directory)).find((name) => name.endsWith(".tgz")) ?? "";
  await runProcess("tar", ["--extract", `--file=${archive}`, "package/bin/node"], { cwd: directory });
  return join(directory, "package", "bin", "node");
}
