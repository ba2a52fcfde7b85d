import { lstatSync, mkdirSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { EnvironmentVariables } from "./environment-variables.ts";

const OTHERS_WRITE = 0o022;

/** Where Node.js keeps what it has compiled of ptc. */
export function compileCacheFolder({ XDG_CACHE_HOME, HOME }: EnvironmentVariables): string {
  return join(XDG_CACHE_HOME || join(HOME || homedir(), ".cache"), "ptc/compiled");
}

/**
 * Has Node.js keep what it compiles, for all processes of ptc of this user, from the first one on. It is kept in the user's own folder
 * and not in that of temporary files, where another user could put other code under the name that Node.js reads. Does nothing where
 * others may write to the folder, or `NODE_COMPILE_CACHE` names another.
 */
export function cacheCompiled(env: EnvironmentVariables): void {
  const folder = compileCacheFolder(env);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = lstatSync(folder);
    const isOwn = process.getuid === undefined || (uid === process.getuid() && (mode & OTHERS_WRITE) === 0);
    if (isOwn) module.enableCompileCache?.(folder);
  } catch {
    // Without a folder, everything is compiled each time.
  }
}

/** The variable with which a thread or process of ptc that gets no others finds what this one has compiled. Empty where nothing is kept. */
export function compileCacheVariable(): { NODE_COMPILE_CACHE?: string } {
  // Its name has the version of Node.js, which Node.js itself appends.
  const folder = module.getCompileCacheDir?.();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
