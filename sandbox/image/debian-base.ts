import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../base/error-message.ts";
import { SandboxError } from "../sandbox-error.ts";
import { describePythonPackages, downloadPackages, unpackPackages } from "./debian-packages.ts";
import type { ImageStore, OnProgress, StoredImage } from "./image-store.ts";
import { fetchNodeBinary, findNodeBinary } from "./node-binary.ts";
import { packDirectory } from "./pack-directory.ts";

/** Increase this number when a change below makes a different file system of the same packages. */
const recipe = 2;

/** The libraries of Node.js, Perl for the guard, a small Python, and what is known of time zones. */
const packages = [
  "base-files",
  "libc-bin",
  "libstdc++6",
  "libatomic1",
  "perl-base",
  "python3-minimal",
  "libpython3-stdlib",
  "python3",
  "tzdata",
];

/** Files of accounts, because `os.userInfo()` and `pwd` look up the container's user. */
const accounts = {
  passwd:
    "root:x:0:0:root:/root:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/workspace:/usr/sbin/nologin\n",
  group: "root:x:0:\nnogroup:x:65534:\n",
};

/** Where the base says which packages for Python it has. The runner imports them in advance (runner-image/python). */
const PYTHON_PACKAGES_FILE = "usr/lib/ptc-python-packages.json";

export interface DebianBaseInputs {
  /** Such as `debian-12` or `ubuntu-24.04`. */
  distribution: string;
  architecture: string;
  nodeVersion: string;
  /** Packages for Python beside the usual ones, by their names in the distribution. */
  pythonPackages?: readonly string[];
}

/** The name of the base image for these inputs. It changes with the recipe, so that an old base is not reused. */
export function debianBaseReference(inputs: DebianBaseInputs): string {
  const hash = createHash("sha256").update(JSON.stringify({ recipe, packages, accounts, ...inputs }));
  return `ptc-base:${inputs.distribution}-node${inputs.nodeVersion}-${hash.digest("hex").slice(0, 12)}`;
}

/** The name of the base image that {@link ensureDebianBase} would use on this machine. */
export async function describeDebianBase(pythonPackages: readonly string[] = []): Promise<string> {
  return debianBaseReference({
    ...(pythonPackages.length === 0 ? {} : { pythonPackages }),
    distribution: parseDistribution(await readFile("/etc/os-release", "utf8").catch(() => "")),
    architecture: process.arch,
    nodeVersion: findNodeBinary().version,
  });
}

/** `ID-VERSION_ID` of an os-release file, in characters that a tag may have. */
export function parseDistribution(osRelease: string): string {
  const field = (name: string) =>
    new RegExp(`^${name}=["']?([^"'\n]*)`, "m").exec(osRelease)?.[1] ?? "unknown";
  return `${field("ID")}-${field("VERSION_ID")}`.toLowerCase().replace(/[^a-z0-9.-]/g, "_");
}

/**
 * A base for the runner image that needs no registry: packages of the Debian or Ubuntu that this machine runs, and
 * Node.js. It stays in the store, so only the first call takes seconds. Throws `base_unavailable` or `build_failed`.
 */
export async function ensureDebianBase(
  store: ImageStore,
  onProgress: OnProgress,
  pythonPackages: readonly string[] = [],
): Promise<StoredImage & { reference: string }> {
  const more = [...new Set(pythonPackages.map(debianName))].sort();
  const reference = await describeDebianBase(more);
  const present = await store.inspect(reference);
  if (present !== undefined) return { ...present, reference };

  onProgress("Building the base image from this distribution's packages ...");
  const directory = await mkdtemp(join(tmpdir(), "ptc-base-"));
  try {
    const root = join(directory, "root");
    await mkdir(root, { mode: 0o755 });
    const [debs, node] = await Promise.all([
      downloadPackages([...packages, ...more], join(directory, "apt")),
      provideNode(directory),
    ]);
    await unpackPackages(debs, root);
    await completeRoot(root, node);
    if (more.length > 0) await completePython(root, await describePythonPackages(debs, more));
    const { tar, ended } = packDirectory(root);
    const [image] = await Promise.all([store.importRootfs({ tar, reference }), ended]);
    return { ...image, reference };
  } catch (cause) {
    if (cause instanceof SandboxError) throw cause;
    const reason = messageOf(cause);
    throw new SandboxError("build_failed", `the base image could not be built: ${reason}`, { cause });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** What the distribution calls a package for Python. */
function debianName(name: string): string {
  return name.startsWith("python3-") ? name : `python3-${name}`;
}

/** Does what scripts of packages would do, which never run here: says where libraries are, and which modules there are. */
async function completePython(root: string, described: object): Promise<void> {
  await writeFile(join(root, PYTHON_PACKAGES_FILE), JSON.stringify(described), { mode: 0o644 });
  const libraries = join(root, "usr", "lib");
  for (const machine of await readdir(libraries)) {
    for (const folder of ["blas", "lapack"]) {
      const files = await readdir(join(libraries, machine, folder)).catch(() => []);
      for (const file of files.filter((name) => /\.so\.\d+$/.test(name)))
        await symlink(join(folder, file), join(libraries, machine, file)).catch(() => {});
    }
  }
}

async function provideNode(directory: string): Promise<string> {
  const { version, path } = findNodeBinary();
  if (path !== undefined) return path;
  const download = join(directory, "node");
  await mkdir(download);
  return fetchNodeBinary(version, download);
}

async function completeRoot(root: string, node: string): Promise<void> {
  const bin = join(root, "usr", "local", "bin");
  await mkdir(bin, { recursive: true });
  await copyFile(node, join(bin, "node"));
  await chmod(join(bin, "node"), 0o755);
  await mkdir(join(root, "etc"), { recursive: true });
  for (const [name, text] of Object.entries(accounts))
    await writeFile(join(root, "etc", name), text, { mode: 0o644 });
  await mkdir(join(root, "tmp"), { recursive: true });
  await chmod(join(root, "tmp"), 0o1777);
}
