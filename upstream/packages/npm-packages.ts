/** Resolves and installs packages with npm, without running a line of theirs: install scripts are off. */

import { readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import * as z from "zod/mini";
import { isObject, parseForeignJson } from "../../base/json.ts";
import { packageName } from "./package-command.ts";
import { PackageError } from "./package-error.ts";
import type { NpmTree } from "./package-lock.ts";
import type { Install, InstallStep } from "./run-installer.ts";

const LIMITS = { maxBytes: 32 * 1024 * 1024, maxDepth: 32 };
const BIN = "node_modules/.bin";
/** Node.js in the image. */
const NODE = "/usr/local/bin/node";
const MAX_FIRST_LINE_BYTES = 256;
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
    const file = programFile(folder, program);
    if (file === undefined)
      throw new PackageError(`${command.packages.join(", ")} has no program ${program}`);
    const path = `${inside}/${relative(realpathSync(folder), file)}`;
    // The image has no `env`, which finds Node.js for such a file elsewhere.
    const isScript = /^#!.*\bnode\b/.test(readFileSync(file).subarray(0, MAX_FIRST_LINE_BYTES).toString());
    return {
      ...(isScript ? { command: NODE, args: [path] } : { command: path, args: [] }),
      env: { PATH: `${inside}/${BIN}` },
    };
  },
};

/** Where the file of an installed program really is; undefined if there is none in the folder. */
function programFile(folder: string, program: string): string | undefined {
  try {
    const file = realpathSync(join(folder, BIN, program));
    const isWithin = file.startsWith(join(realpathSync(folder), "node_modules") + sep);
    return isWithin && statSync(file).isFile() && /^[\w.@+-]+$/.test(program) ? file : undefined;
  } catch {
    return undefined;
  }
}

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
