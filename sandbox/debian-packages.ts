import { mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { runCommand, streamCommand } from "./run-command.ts";
import { SandboxError } from "./sandbox-error.ts";

/** Needed to install or configure a package, not to run what is in it. */
const neverRun = /^(dpkg|tar|mawk|readline-common)_/;

/** Paths that a program in a sandbox has no use for. */
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
 * Downloads packages and all they depend on, with this machine's own apt, sources and keys, into `directory`.
 * Nothing is installed here and no right of root is needed. Returns the paths of the `.deb` files, sorted.
 */
export async function downloadPackages(names: readonly string[], directory: string): Promise<string[]> {
  const archives = join(directory, "archives");
  await mkdir(join(archives, "partial"), { recursive: true });
  const install = ["--download-only", "--no-install-recommends", "--yes", "install", ...names];
  // An empty list of installed packages makes apt fetch every dependency.
  const options = settings({
    "Dir::State::status": "/dev/null",
    "Dir::Cache": directory,
    "Debug::NoLocking": "1",
    "APT::Sandbox::User": "root",
  });
  try {
    await runCommand("apt-get", [...options, "-qq", ...install]);
  } catch {
    // Old or missing package lists: read fresh ones, kept apart from the machine's own.
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
    await runCommand("apt-get", [...options, "-qq", "update"]);
    await runCommand("apt-get", [...options, "-qq", ...install]);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const advice = "Where there is no apt, name a base image that a registry has";
    throw new SandboxError(
      "base_unavailable",
      `the distribution's packages cannot be had: ${reason}. ${advice}.`,
      { cause },
    );
  }
}

/** Unpacks packages into a root file system where `/bin`, `/lib` and the like lead to `/usr`, as in current releases. */
export async function unpackPackages(packages: readonly string[], root: string): Promise<void> {
  for (const name of ["bin", "sbin", "lib", "lib64"]) {
    await mkdir(join(root, "usr", name), { recursive: true });
    await symlink(`usr/${name}`, join(root, name));
  }
  for (const file of packages) {
    if (neverRun.test(file.slice(file.lastIndexOf("/") + 1))) continue;
    const { output, ended } = streamCommand("dpkg-deb", ["--fsys-tarfile", file]);
    const unpacked = runCommand(
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
