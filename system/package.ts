import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** The folder of ptc's package.json, whether ptc runs from its sources or from the build. */
export const packageDirectory = findPackage(import.meta.dirname);

const manifest = JSON.parse(readFileSync(join(packageDirectory, "package.json"), "utf8")) as {
  version: string;
  engines: { node: string };
};

export const { version } = manifest;

/** The versions of Node.js that ptc supports, as a range in npm's notation. */
export const nodeRange = manifest.engines.node;

/** A script that installs Docker and gVisor as root on Debian and Ubuntu. */
export const engineSetupScript = join(packageDirectory, "scripts", "setup-engine.sh");

/** The URL of a module that is loaded by path, either in the sources or in the build. */
export function moduleUrl(module: string): URL {
  const built = import.meta.url.endsWith(".js");
  return pathToFileURL(join(packageDirectory, built ? `dist/${module}.js` : `${module}.ts`));
}

function findPackage(start: string): string {
  for (let directory = start; ; directory = dirname(directory)) {
    if (existsSync(join(directory, "package.json"))) return directory;
  }
}
