/** Reads which packages a command such as `npx -y name@1.2.3` fetches, and what it starts from them. Pure. */

import { basename } from "node:path";
import { PackageError } from "./package-error.ts";

/** Where packages come from: registries of npm's kind, or indexes of Python's. */
export type PackageKind = "npm" | "python";

/** What a command fetches and starts. */
export interface PackageCommand {
  kind: PackageKind;
  /** As the command names them, such as `name@^1.2` or `name==1.2`. The first has the program, unless `program` names another's. */
  packages: readonly string[];
  /** The program to start; by default the one that the first package is known for. */
  program: string | undefined;
  args: readonly string[];
}

interface Launcher {
  kind: PackageKind;
  /** The words after the command that make it fetch and start a package. */
  words: readonly string[];
  /** Options that change nothing of what is fetched. */
  ignored: readonly string[];
  /** Options with the value that names a package to fetch. */
  packages: readonly string[];
  /** Of these the first replaces the package of the program's name; without them all do. */
  replaces?: readonly string[];
}

const NPM: Omit<Launcher, "words"> = {
  kind: "npm",
  ignored: [
    ...["-y", "--yes", "-q", "--quiet", "-s", "--silent", "--prefer-offline", "--prefer-online", "--offline"],
    ...["--ignore-existing", "--bun"],
  ],
  packages: ["-p", "--package"],
};
const PYTHON: Omit<Launcher, "words"> = {
  kind: "python",
  ignored: ["-q", "--quiet", "-n", "--no-cache", "--offline", "--isolated", "--refresh", "--native-tls"],
  packages: ["--from", "--spec", "--with"],
  replaces: ["--from", "--spec"],
};
/** By the name of the command. */
const LAUNCHERS: ReadonlyMap<string, readonly Launcher[]> = new Map([
  ["npx", [{ ...NPM, words: [] }]],
  ["pnpx", [{ ...NPM, words: [] }]],
  ["bunx", [{ ...NPM, words: [] }]],
  ["npm", ["exec", "x"].map((word) => ({ ...NPM, words: [word] }))],
  ["pnpm", [{ ...NPM, words: ["dlx"] }]],
  ["yarn", [{ ...NPM, words: ["dlx"] }]],
  ["bun", [{ ...NPM, words: ["x"] }]],
  ["uvx", [{ ...PYTHON, words: [] }]],
  ["uv", [{ ...PYTHON, words: ["tool", "run"] }]],
  ["pipx", [{ ...PYTHON, words: ["run"] }]],
]);

/** A package of a registry, by name and version. Folders, files, URLs and repositories have no version that a registry vouches for. */
const NPM_PACKAGE = /^(?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*(?:@[\w.^~<>=|*+ -]+)?$/i;
const PYTHON_PACKAGE =
  /^[a-z0-9][\w.-]*(?:\[[\w,. -]+\])?(?:\s*(?:[=~!<>]=?|===)\s*[\w.*+!-]+(?:\s*,\s*(?:[=~!<>]=?|===)\s*[\w.*+!-]+)*)?$/i;

/** Whether a command may be one that fetches its package. */
export function fetchesPackages(command: string): boolean {
  return LAUNCHERS.has(basename(command));
}

/**
 * Reads a command that fetches its package; undefined for every other command.
 *
 * @throws PackageError for one that names no package of a registry, and for options that are not known here.
 */
export function readPackageCommand(command: string, args: readonly string[]): PackageCommand | undefined {
  const name = basename(command);
  const launchers = LAUNCHERS.get(name);
  if (launchers === undefined) return undefined;
  const launcher = launchers.find(({ words }) => words.every((word, index) => args[index] === word));
  if (launcher === undefined) {
    const known = launchers.map(({ words }) => [name, ...words].join(" ")).join(" or ");
    throw new PackageError(`a sandbox starts packages with ${known}, and not with ${name} alone`);
  }
  const said = [name, ...launcher.words].join(" ");
  const rest = args.slice(launcher.words.length);
  const named: string[] = [];
  const replacing: string[] = [];
  while (rest[0]?.startsWith("-")) {
    const option = rest.shift() ?? "";
    if (option === "--") break;
    if (launcher.ignored.includes(option)) continue;
    const [key = "", ...values] = option.split("=");
    if (!launcher.packages.includes(key))
      throw new PackageError(
        `a sandbox does not know the option ${key} of ${said}; name the package, its version and its arguments alone`,
      );
    const value = values.length > 0 ? values.join("=") : rest.shift();
    if (value === undefined || value === "") throw new PackageError(`${said} ${key} names no package`);
    (launcher.replaces?.includes(key) === false ? named : replacing).push(value);
  }
  const [first, ...programArgs] = rest;
  if (first === undefined) throw new PackageError(`${said} names no package`);
  const isReplaced = replacing.length > 0;
  const packages = [...(isReplaced ? replacing : [first]), ...named].map((text) =>
    launcher.kind === "python" ? pythonPackage(text) : text,
  );
  const pattern = launcher.kind === "npm" ? NPM_PACKAGE : PYTHON_PACKAGE;
  const foreign = packages.find((text) => !pattern.test(text));
  if (foreign !== undefined)
    throw new PackageError(
      `${foreign} is no package of a registry, by name and version; put its files into a folder, name that in sandbox.files, and start them with ${launcher.kind === "npm" ? "node" : "python3"}`,
    );
  return { kind: launcher.kind, packages, program: isReplaced ? first : undefined, args: programArgs };
}

/** uv's `name@1.2.3` and `name@latest`, as every other tool for Python writes them. */
function pythonPackage(text: string): string {
  const [, name, version] = /^([^@\s]+)@([^@\s/:]+)$/.exec(text) ?? [];
  if (name === undefined) return text;
  return version === "latest" ? name : `${name}==${version}`;
}

/** The name of a package, without its version and extras. */
export function packageName({ kind }: Pick<PackageCommand, "kind">, text: string): string {
  if (kind === "npm") return text.replace(/(?<=.)@.*$/, "");
  return (/^[\w.-]+/.exec(text)?.[0] ?? text).replaceAll(/[-_.]+/g, "-").toLowerCase();
}
