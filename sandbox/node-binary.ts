import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "./run-command.ts";

/** What the image gets where ptc was installed without its development dependencies, which bring a Node.js. */
export const fallbackNodeVersion = "24.21.0";
const major = "24.";

export interface NodeBinary {
  version: string;
  /** Undefined until it is fetched. */
  path: string | undefined;
}

/** The Node.js that an image without a registry gets: of this machine's architecture, from an npm package. */
export function findNodeBinary(): NodeBinary {
  try {
    const manifest = fileURLToPath(import.meta.resolve("node/package.json"));
    const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version?: unknown };
    if (typeof version === "string" && version.startsWith(major)) {
      return { version, path: join(dirname(manifest), "bin", "node") };
    }
  } catch {
    // Not installed: it is fetched.
  }
  return { version: fallbackNodeVersion, path: undefined };
}

/** Fetches `node-linux-<arch>` with npm, which knows its registry. Throws `build_failed`. */
export async function fetchNodeBinary(version: string, directory: string): Promise<string> {
  const packageName = `node-linux-${process.arch}@${version}`;
  await runCommand("npm", ["pack", "--silent", packageName, `--pack-destination=${directory}`], {
    cwd: directory,
  });
  const archive = (await readdir(directory)).find((name) => name.endsWith(".tgz")) ?? "";
  await runCommand("tar", ["--extract", `--file=${archive}`, "package/bin/node"], { cwd: directory });
  return join(directory, "package", "bin", "node");
}
