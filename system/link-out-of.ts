import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { isAbsolute, join, parse, relative, sep } from "node:path";

const SEPARATORS = sep === "/" ? "/" : /[\\/]/;

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

/** More links than this lead nowhere, as on Linux. */
const MAX_LINKS = 40;

/** Where a link leads, also to what is not there yet, as the system follows it: step by step. `undefined` for one that leads nowhere. */
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
