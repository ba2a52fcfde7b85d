import { existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { ManagedPlace } from "./managed-settings.ts";

export interface FindOptions {
  /** The value of `--config`. */
  flag?: string | undefined;
  /** What gives that value, for messages; by default `--config`. */
  givenBy?: string | undefined;
  env: EnvironmentVariables;
  /** Absolute. */
  cwd: string;
  /** The places of managed settings; by default those of this system. No variable and no option changes them. */
  managedPlaces?: readonly ManagedPlace[] | undefined;
}

const FILE = "ptc.yaml";

/** The names of the file in the working directory, best first. Above it only the first is looked for, because other tools have the second too. */
const UNNAMED_CONFIGURATIONS = [FILE, "config.yaml"];

const WRITABLE_BY_ALL = 0o002;
const ROOT = 0;
/** The most folders above the working directory that are looked at. */
const MAX_FOLDERS_UP = 64;

/** The named file and what names it; `undefined` if no file is named. */
export function namedConfiguration({
  flag,
  givenBy = "--config",
  env,
}: Pick<FindOptions, "flag" | "givenBy" | "env">) {
  return [
    { by: givenBy, file: flag },
    { by: "PTC_CONFIG", file: env.PTC_CONFIG || undefined },
    { by: "PTC_MCP_CONFIG", file: env.PTC_MCP_CONFIG || undefined },
  ].find(({ file }) => file !== undefined);
}

/** The absolute paths where the configuration may be, best first. */
export function configurationPaths({ flag, env, cwd }: FindOptions): string[] {
  const named = namedConfiguration({ flag, env })?.file;
  if (named !== undefined) return [resolve(cwd, named)];
  return [
    ...UNNAMED_CONFIGURATIONS.map((file) => resolve(cwd, file)),
    ...foldersAbove(env, cwd)
      .map((folder) => join(folder, FILE))
      .filter(isTrusted),
  ];
}

/**
 * The configuration above a folder that counts there; `undefined` if a file is named, or the folder has one, or there is none.
 *
 * @returns the path from the folder, such as `../ptc.yaml`.
 */
export function configurationAbove(options: FindOptions): string | undefined {
  if (namedConfiguration(options) !== undefined) return undefined;
  const found = configurationPaths(options).find((path) => existsSync(path));
  if (found === undefined || dirname(found) === resolve(options.cwd)) return undefined;
  return shownFrom(found, options.cwd);
}

/**
 * The real path of the folder that counts as the project in which ptc was started: that of the ptc.yaml above, else the working
 * directory.
 */
export function projectFolder(options: FindOptions): string {
  const above = configurationAbove(options);
  const folder = real(options.cwd);
  return above === undefined ? folder : dirname(join(folder, above));
}

/** The path of a file as a person in a folder writes it. */
export function shownFrom(path: string, cwd: string): string {
  return dirname(path) === resolve(cwd) ? basename(path) : relative(real(cwd), path);
}

/**
 * The folders above one whose ptc.yaml counts in it, nearest first: up to the root of its git repository, or to the home folder. A
 * folder that belongs to another user, or that everybody may write, ends the search, because somebody could have put a ptc.yaml there to
 * have their commands started (as git's `safe.directory` has it).
 */
function foldersAbove({ HOME }: EnvironmentVariables, cwd: string): string[] {
  const home = real(HOME || homedir());
  const folders: string[] = [];
  for (let folder = real(cwd); folders.length < MAX_FOLDERS_UP; ) {
    const parent = dirname(folder);
    if (parent === folder || folder === home || existsSync(join(folder, ".git")) || !isTrusted(parent)) break;
    folders.push(parent);
    folder = parent;
  }
  return folders;
}

/** Whether a file or a folder belongs to the user or to root, and not everybody may write it. So does what does not exist. */
function isTrusted(path: string): boolean {
  const status = statOf(path);
  if (status === undefined) return true;
  const me = process.getuid?.();
  if (me === undefined) return true;
  return (status.uid === me || status.uid === ROOT) && (status.mode & WRITABLE_BY_ALL) === 0;
}

function statOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
