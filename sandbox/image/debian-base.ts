import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../base/faults.ts";
import type { ImageStore, OnProgress, StoredImage } from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { packDirectory, runProcess, streamProcess } from "./run-process.ts";

/** Increase this number if a change below produces a different file system from the same packages. */
const recipe = 2;

/** The libraries of Node.js, Perl for the guard, a small Python, and the time zone database. */
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

/** The file in the base that lists its Python packages. The runner imports them in advance (runner-image/python). */
const PYTHON_PACKAGES_FILE = "usr/lib/ptc-python-packages.json";

/** A digest of how a base is made from packages, apart from its inputs. */
export const debianBaseRecipe = createHash("sha256")
  .update(JSON.stringify({ recipe, packages, accounts }))
  .digest("hex");

export interface DebianBaseInputs {
  /** For example `debian-12` or `ubuntu-24.04`. */
  distribution: string;
  architecture: string;
  nodeVersion: string;
  /** Additional Python packages, by their names in the distribution. */
  pythonPackages?: readonly string[];
}

/** Matches the names from {@link debianBaseReference}. */
export const debianBaseName = /^ptc-base:[\w.-]+-node[\w.]+-[0-9a-f]{12}$/;

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

/** `ID-VERSION_ID` of an os-release file, reduced to characters that are allowed in a tag. */
export function parseDistribution(osRelease: string): string {
  const field = (name: string) =>
    new RegExp(`^${name}=["']?([^"'\n]*)`, "m").exec(osRelease)?.[1] ?? "unknown";
  return `${field("ID")}-${field("VERSION_ID")}`.toLowerCase().replace(/[^a-z0-9.-]/g, "_");
}

/**
 * A base for the runner image that needs no registry: packages of the Debian or Ubuntu on this machine, and Node.js. It stays in the
 * store, so only the first call takes seconds. Throws `base_unavailable` or `build_failed`.
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
    // In turn, so that where one fails nothing writes any more into the folder that is removed.
    const debs = await downloadPackages([...packages, ...more], join(directory, "apt"));
    const node = await provideNode(directory);
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

/** The distribution's name of a Python package. */
export function debianName(name: string): string {
  return name.startsWith("python3-") ? name : `python3-${name}`;
}

/** Replaces the packages' scripts, which never run here: links libraries, and lists the modules. */
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

/** The version for the image if ptc was installed without development dependencies, which include Node.js. */
export const fallbackNodeVersion = "24.21.0";
const major = "24.";

interface NodeBinary {
  version: string;
  /** `undefined` if it must be fetched first. */
  path: string | undefined;
}

/** The Node.js for an image made without a registry: for this machine's architecture, from an npm package. */
export function findNodeBinary(): NodeBinary {
  try {
    const manifest = fileURLToPath(import.meta.resolve("node/package.json"));
    const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version?: unknown };
    if (typeof version === "string" && version.startsWith(major)) {
      return { version, path: join(dirname(manifest), "bin", "node") };
    }
  } catch {
    // The package is not installed and must be fetched.
  }
  return { version: fallbackNodeVersion, path: undefined };
}

/** Downloads `node-linux-<arch>` with npm, which is configured for its registry. Throws `build_failed`. */
async function fetchNodeBinary(version: string, directory: string): Promise<string> {
  const packageName = `node-linux-${process.arch}@${version}`;
  await runProcess("npm", ["pack", "--silent", packageName, `--pack-destination=${directory}`], {
    cwd: directory,
  });
  const archive = (await readdir(directory)).find((name) => name.endsWith(".tgz")) ?? "";
  await runProcess("tar", ["--extract", `--file=${archive}`, "package/bin/node"], { cwd: directory });
  return join(directory, "package", "bin", "node");
}

/** Packages that are only needed to install or configure others. */
const neverRun = /^(dpkg|tar|mawk|readline-common)_/;

/** Paths that programs in a sandbox do not need. */
const leftOut = [
  "./usr/share/doc",
  "./usr/share/man",
  "./usr/share/info",
  "./usr/share/locale",
  "./usr/share/lintian",
  "./usr/share/bash-completion",
  "./usr/lib/*/gconv",
  "./var",
];

/**
 * Downloads packages and their dependencies into `directory`, with this machine's apt, sources and keys. Installs nothing and does
 * not need root. Returns the sorted paths of the `.deb` files.
 */
async function downloadPackages(names: readonly string[], directory: string): Promise<string[]> {
  const archives = join(directory, "archives");
  await mkdir(join(archives, "partial"), { recursive: true });
  const install = ["--download-only", "--no-install-recommends", "--yes", "install", ...names];
  // With an empty list of installed packages, apt fetches every dependency.
  const options = settings({
    "Dir::State::status": "/dev/null",
    "Dir::Cache": directory,
    "Debug::NoLocking": "1",
    "APT::Sandbox::User": "root",
  });
  try {
    await runProcess("apt-get", [...options, "-qq", ...install]);
  } catch {
    // The machine's package lists are outdated or missing: fetch current ones into a separate folder.
    const lists = join(directory, "lists");
    await mkdir(join(lists, "partial"), { recursive: true });
    options.push(...settings({ "Dir::State::lists": lists }));
    await updateAndInstall(options, install);
  }
  const files = (await readdir(archives)).filter((file) => file.endsWith(".deb"));
  return files.sort().map((file) => join(archives, file));
}

async function updateAndInstall(options: readonly string[], install: readonly string[]): Promise<void> {
  try {
    await runProcess("apt-get", [...options, "-qq", "update"]);
    await runProcess("apt-get", [...options, "-qq", ...install]);
  } catch (cause) {
    const reason = messageOf(cause);
    const advice = "Where there is no apt, name a base image that a registry has";
    throw new SandboxError(
      "base_unavailable",
      `the distribution's packages cannot be fetched: ${reason}. ${advice}.`,
      { cause },
    );
  }
}

/** The versions of some of the downloaded packages, and the Python modules in them. */
export async function describePythonPackages(
  files: readonly string[],
  names: readonly string[],
): Promise<{ versions: Record<string, string>; modules: string[] }> {
  const versions: Record<string, string> = {};
  const modules = new Set<string>();
  for (const file of files) {
    const [name = "", version = ""] = basename(file).split("_");
    if (!names.includes(name)) continue;
    versions[name] = decodeURIComponent(version);
    const { output, ended } = streamProcess("dpkg-deb", ["--contents", file]);
    const [listing] = await Promise.all([text(output), ended]);
    for (const [, module = ""] of listing.matchAll(
      /\.\/usr\/lib\/python3\/dist-packages\/([A-Za-z]\w*)(?:\/__init__)?\.py$/gm,
    ))
      modules.add(module);
  }
  return { versions, modules: [...modules].sort() };
}

/** Unpacks packages into a root file system in which `/bin`, `/lib` and so on are links into `/usr`, as in current releases. */
async function unpackPackages(packages: readonly string[], root: string): Promise<void> {
  for (const name of ["bin", "sbin", "lib", "lib64"]) {
    await mkdir(join(root, "usr", name), { recursive: true });
    await symlink(`usr/${name}`, join(root, name));
  }
  for (const file of packages) {
    if (neverRun.test(file.slice(file.lastIndexOf("/") + 1))) continue;
    const { output, ended } = streamProcess("dpkg-deb", ["--fsys-tarfile", file]);
    const unpacked = runProcess(
      "tar",
      [
        "--extract",
        "--no-same-owner",
        "--preserve-permissions",
        "--keep-directory-symlink",
        ...leftOut.map((path) => `--exclude=${path}`),
        `--directory=${root}`,
      ],
      { input: output },
    );
    await Promise.all([ended, unpacked]);
  }
}

function settings(values: Record<string, string>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
}
