/** Resolves and installs packages with npm, without running a line of theirs: install scripts are off. */

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { isObject, parseForeignJson } from "../../base/json.ts";
import { packageName } from "./package-command.ts";
import { PackageError } from "./package-error.ts";
import type { NpmTree } from "./package-lock.ts";
import type { Install, InstallStep } from "./run-installer.ts";

const LIMITS = { maxBytes: 32 * 1024 * 1024, maxDepth: 32 };
const QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];

/** What fits the sandbox and not this machine, which may be another system. */
const forSandbox = (arch: string) => ["--os=linux", "--libc=glibc", `--cpu=${arch}`];

/** npm, as a source of packages for sandboxes. */
export const npmPackages: Install<NpmTree> = {
  async resolve({ packages }, step) {
    writeFileSync(join(step.folder, "package.json"), '{ "private": true }\n');
    await withProjectSettings(step, () =>
      step.run("npm", [
        ...["install", "--package-lock-only", "--omit-lockfile-registry-resolved", "--omit=dev", ...QUIET],
        ...forSandbox(step.arch),
        ...["--", ...packages],
      ]),
    );
    const lock = parseForeignJson(readFileSync(join(step.folder, "package-lock.json")), LIMITS);
    const tree = (lock as { packages?: unknown }).packages;
    if (!isObject(tree)) throw new PackageError("npm wrote no package-lock.json; update npm");
    return tree as NpmTree;
  },

  async install(tree, step) {
    refuseUnpinned(tree);
    const root = tree[""] ?? {};
    const lock = { name: "packages", lockfileVersion: 3, requires: true, packages: { ...tree, "": root } };
    const own = { private: true, dependencies: root.dependencies };
    writeFileSync(join(step.folder, "package.json"), JSON.stringify(own));
    writeFileSync(join(step.folder, "package-lock.json"), JSON.stringify(lock));
    await withProjectSettings(step, () =>
      step.run("npm", ["ci", "--omit=dev", ...QUIET, ...forSandbox(step.arch)]),
    );
  },

  start(command, folder, inside) {
    const [first = ""] = command.packages;
    const program = command.program ?? knownProgram(packageName(command, first), folder);
    const bin = "node_modules/.bin";
    if (!/^[\w.@+-]+$/.test(program) || !isFile(join(folder, bin, program)))
      throw new PackageError(`${command.packages.join(", ")} has no program ${program}`);
    return { command: `${inside}/${bin}/${program}`, args: [], env: { PATH: `${inside}/${bin}` } };
  },
};

/** Every package comes from a registry with a digest. Others, such as those of a git repository, would run scripts or can change. */
function refuseUnpinned(tree: NpmTree): void {
  for (const [place, { integrity, inBundle, link }] of Object.entries(tree)) {
    if (place === "" || inBundle === true) continue;
    const isPlain = /^node_modules\/(?!.*(?:^|\/)\.\.?(?:\/|$))/.test(place);
    if (!isPlain || link === true || integrity === undefined)
      throw new PackageError(
        `${place.replace(/^.*node_modules\//, "")} comes from no registry with a digest, such as from a git repository; ptc does not install it`,
      );
  }
}

const Manifest = z.object({
  bin: z.optional(z.union([z.string(), z.record(z.string(), z.string())])),
});

/** The program that npx starts: the only one, or the one of the package's name. */
function knownProgram(name: string, folder: string): string {
  const short = name.replace(/^@[^/]*\//, "");
  let bin: z.infer<typeof Manifest>["bin"];
  try {
    const text = readFileSync(join(folder, "node_modules", name, "package.json"));
    bin = Manifest.parse(parseForeignJson(text, LIMITS)).bin;
  } catch {
    bin = undefined;
  }
  if (bin === undefined) throw new PackageError(`${name} has no program to start`);
  if (typeof bin === "string") return short;
  const names = Object.keys(bin);
  const [only] = names;
  if (only !== undefined && new Set(Object.values(bin)).size === 1) return only;
  if (names.includes(short)) return short;
  throw new PackageError(
    `${name} has more than one program (${names.join(", ")}); name one: -p ${name} NAME`,
  );
}

/** npm finds its settings for a project beside its package.json. Afterwards nothing of them is left in the folder. */
async function withProjectSettings({ folder, directory }: InstallStep, work: () => Promise<unknown>) {
  const copy = join(folder, ".npmrc");
  try {
    writeFileSync(copy, readFileSync(join(directory, ".npmrc")), { mode: 0o600 });
  } catch {
    // The project has none.
  }
  try {
    await work();
  } finally {
    rmSync(copy, { force: true });
  }
}

function isFile(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}
