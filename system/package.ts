import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

interface Manifest {
  name: string;
  version: string;
  homepage: string;
  engines: { node: string };
  bin?: { ptc?: string };
}

const found = findPackage(import.meta.dirname);

/** The folder of ptc's package.json, whether ptc runs from its sources or from the build. */
export const packageDirectory = found.directory;

const { manifest } = found;

/** The package's own name, which may have a scope: package.json is the one place that says it. */
export const { name: packageName, version, homepage } = manifest;

/** The versions of Node.js that ptc supports, as a range in npm's notation. */
export const nodeRange = manifest.engines.node;

/** A script that installs Docker and gVisor as root on Debian and Ubuntu. */
export const engineSetupScript = join(packageDirectory, "scripts", "setup-engine.sh");

/** What `ptc setup` runs, or hands to others. */
export const setupFiles = {
  engine: engineSetupScript,
  gvisor: join(packageDirectory, "scripts", "setup-gvisor.sh"),
  lima: join(packageDirectory, "scripts", "lima.yaml"),
};

/** The URL of a module that is loaded by path, either in the sources or in the build. */
export function moduleUrl(module: string): URL {
  const built = import.meta.url.endsWith(".js");
  return pathToFileURL(join(packageDirectory, built ? `dist/${module}.js` : `${module}.ts`));
}

/**
 * The package that this module is in. Code of ptc that was copied into another file, as bundlers do, is in none of ptc: its workers, its
 * image and what checks programs would not be found.
 */
function findPackage(start: string | undefined): { directory: string; manifest: Manifest } {
  for (let directory = start; directory !== undefined; directory = parentOf(directory)) {
    const file = join(directory, "package.json");
    if (!existsSync(file)) continue;
    const manifest = JSON.parse(readFileSync(file, "utf8")) as Manifest;
    if (manifest.bin?.ptc !== undefined) return { directory, manifest };
    break;
  }
  throw new Error(
    "ptc was bundled into another file, and cannot run there: leave the package `ptc` outside of the bundle and installed beside it (esbuild: --external:ptc --external:ptc/*; Rollup and Vite: external; webpack: externals; Next.js: serverExternalPackages)",
  );
}

function parentOf(directory: string): string | undefined {
  const parent = dirname(directory);
  return parent === directory ? undefined : parent;
}
