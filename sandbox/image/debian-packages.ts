import { mkdir, readdir, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { messageOf } from "../../base/error-message.ts";
import { SandboxError } from "../sandbox-error.ts";
import { runProcess, streamProcess } from "./run-process.ts";

/** Packages that are needed to install or configure others, but not to run them. */
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
 * Downloads packages and their dependencies into `directory`, with this machine's apt, sources and keys. Installs nothing
 * and does not need root. Returns the paths of the `.deb` files, sorted.
 */
export async function downloadPackages(names: readonly string[], directory: string): Promise<string[]> {
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
    // The machine's package lists are old or missing: fetch fresh ones into a folder of our own.
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
      `the distribution's packages cannot be had: ${reason}. ${advice}.`,
      { cause },
    );
  }
}

/** The versions of some of the downloaded packages, and the modules of Python that these hold. */
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

/** Unpacks packages into a root file system in which `/bin`, `/lib` and so on are links to `/usr`, as current releases do. */
export async function unpackPackages(packages: readonly string[], root: string): Promise<void> {
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
