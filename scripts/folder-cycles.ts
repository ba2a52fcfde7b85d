/** Imports between files, by path from the root of the repository. */
export type FileImports = ReadonlyMap<string, readonly string[]>;

/** Folders and files in the same folder that import each other in a circle. */
export interface FolderCycle {
  /** The folder that contains them; the root is "". */
  folder: string;
  /** Their paths, sorted. */
  members: readonly string[];
  /** One import from each member to another, as `from -> to`. */
  imports: readonly string[];
}

/**
 * The circles among neighbours. At every depth, the files and subfolders of one folder (each with everything in it) must import
 * one way, so that each can be understood from those below it.
 */
export function folderCycles(imports: FileImports): FolderCycle[] {
  const folders = new Set([...imports.keys()].flatMap(foldersOf));
  return [...folders].sort().flatMap((folder) => {
    const links = linksWithin(folder, imports);
    return circles(links).map((members) => ({
      folder,
      members,
      imports: members.flatMap((from) =>
        [...(links.get(from) ?? [])].filter(([to]) => members.includes(to)).map(([, text]) => text),
      ),
    }));
  });
}

/** The folders that contain a file, starting from the root. */
function foldersOf(file: string): string[] {
  const parts = file.split("/").slice(0, -1);
  return ["", ...parts.map((_, index) => parts.slice(0, index + 1).join("/"))];
}

/** For each member of a folder, the members that it imports, each with one such import. */
function linksWithin(folder: string, imports: FileImports): Map<string, Map<string, string>> {
  const prefix = folder === "" ? "" : `${folder}/`;
  const memberOf = (file: string) =>
    file.startsWith(prefix) ? prefix + file.slice(prefix.length).split("/")[0] : undefined;
  const links = new Map<string, Map<string, string>>();
  for (const [file, targets] of imports) {
    const from = memberOf(file);
    if (from === undefined) continue;
    const own = links.get(from) ?? new Map<string, string>();
    links.set(from, own);
    for (const target of targets) {
      const to = memberOf(target);
      if (to !== undefined && to !== from && !own.has(to)) own.set(to, `${file} -> ${target}`);
    }
  }
  return links;
}

/** Groups of members that reach each other. */
function circles(links: ReadonlyMap<string, ReadonlyMap<string, string>>): string[][] {
  const reached = new Map([...links.keys()].map((member) => [member, reachableFrom(member, links)]));
  const grouped = new Set<string>();
  const found: string[][] = [];
  for (const [member, own] of reached) {
    if (grouped.has(member)) continue;
    const group = [...own].filter((other) => reached.get(other)?.has(member) === true);
    for (const each of group) grouped.add(each);
    if (group.length > 1) found.push(group.sort());
  }
  return found;
}

function reachableFrom(start: string, links: ReadonlyMap<string, ReadonlyMap<string, string>>): Set<string> {
  const reached = new Set<string>();
  const waiting = [start];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const to of links.get(next)?.keys() ?? []) {
      if (reached.has(to)) continue;
      reached.add(to);
      waiting.push(to);
    }
  }
  return reached;
}
