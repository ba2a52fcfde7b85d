import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { isAbsolute, join, parse, relative, sep } from "node:path";

const SEPARATORS = sep === "/" ? "/" : /[\\/]/;

/**
 * Returns the symbolic link through which a path in a folder leads out of the folder, or `undefined` if there is none or the path
 * is elsewhere. A project may come from others, and its links could make ptc write elsewhere. The folder's parents are trusted.
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
    // Nothing is there, or a part of the path before it is not a folder.
    return false;
  }
}

/** A path through more links than this leads nowhere, as on Linux. */
const MAX_LINKS = 40;

/** Follows a link step by step, as the system does, to a target that need not exist. `undefined` if the link leads nowhere. */
function targetOf(link: string): string | undefined {
  const stepsOf = (path: string) => path.slice(parse(path).root.length).split(SEPARATORS);
  let at = parse(link).root;
  let steps = stepsOf(link);
  for (let links = 0; ; ) {
    const [step, ...rest] = steps;
    if (step === undefined) return at;
    steps = rest;
    const next = join(at, step);
    if (!isLink(next)) {
      at = next;
      continue;
    }
    if (++links > MAX_LINKS) return undefined;
    const target = readlinkSync(next);
    if (isAbsolute(target)) at = parse(target).root;
    steps = [...stepsOf(target), ...rest];
  }
}
