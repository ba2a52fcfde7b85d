/** A plugin for Stryker that leaves out mutants nested within a sampled place, which count as separate places. */
import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** Passed in by Stryker: a node of Babel's syntax tree, and the path up from it. */
interface NodePath {
  node: { end?: number | null; loc?: SourceLocation | null };
  parentPath: NodePath | null;
}

export interface SourceLocation {
  start: { line: number; column: number };
  end: { line: number; column: number };
}

/** The sampled places by `placeOf`. Stryker reads them in the process that fills them. */
export const sampledPlaces = new Set<string>();

/**
 * A place as text: the length of its file in characters, and where it begins and ends, with lines from 1 and columns from 0.
 * Stryker tells a plugin nothing else about the file.
 */
export function placeOf(fileLength: number, { start, end }: SourceLocation): string {
  return `${fileLength}:${start.line}:${start.column}-${end.line}:${end.column}`;
}

/** Whether a node lies within a sampled place and is not that place itself. */
function isWithinSampled(path: NodePath): boolean {
  const above: NodePath[] = [];
  for (let each = path.parentPath; each !== null; each = each.parentPath) above.push(each);
  const fileLength = above.at(-1)?.node.end ?? 0;
  const places = above.map(({ node: { loc } }) => (loc ? placeOf(fileLength, loc) : ""));
  const own = path.node.loc ? placeOf(fileLength, path.node.loc) : "";
  return places.some((place) => place !== own && sampledPlaces.has(place));
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, "only-sampled", {
    shouldIgnore: (path) =>
      isWithinSampled(path as NodePath) ? "within a sampled place, and not sampled itself" : undefined,
  }),
];
