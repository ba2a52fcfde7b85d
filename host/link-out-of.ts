import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/**
 * The symbolic link by which a path in a folder leads out of it; `undefined` where none does, and for a path elsewhere. A project can come
 * from others, with links in it that would have ptc write where nobody asked it to. What is above the folder is its user's own.
 */
export function linkOutOf(folder: string, path: string): string | undefined {
  const steps = relative(folder, path).split(sep);
  if (steps[0] === ".." || isAbsolute(relative(folder, path))) return undefined;
  const real = realpathSync(folder);
  let at = folder;
  for (const step of steps) {
    at = join(at, step);
    if (!isLink(at)) continue;
    const target = targetOf(at);
    if (target === undefined || (target !== real && !target.startsWith(real + sep))) return at;
  }
  return undefined;
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    // Nothing is there, or what stands before it is no folder.
    return false;
  }
}

/** Where a link leads, also to what is not there yet; `undefined` for one that leads nowhere. */
function targetOf(link: string): string | undefined {
  try {
    return realpathSync(link);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") return undefined;
  }
  return nearestReal(resolve(realpathSync(dirname(link)), readlinkSync(link)));
}

function nearestReal(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? undefined : nearestReal(dirname(path));
  }
}
