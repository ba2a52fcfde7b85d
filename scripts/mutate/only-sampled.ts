/** A plugin for Stryker that leaves out the mutants within a sampled place, which are places of their own. */
import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** What Stryker hands in: a node of Babel's syntax tree, and the way up from it. */
interface NodePath {
  node: { loc?: SourceLocation | null };
  parentPath: NodePath | null;
}

export interface SourceLocation {
  filename?: string;
  start: { line: number; column: number };
  end: { line: number; column: number };
}

/** The sampled places by `placeOf`. Stryker reads them in the process that fills them. */
export const sampledPlaces = new Set<string>();

/** A place as text: its file, and where it begins and ends, with lines from 1 and columns from 0. */
export function placeOf(file: string, { start, end }: SourceLocation): string {
  return `${file}:${start.line}:${start.column}-${end.line}:${end.column}`;
}

/** Whether a node lies within a sampled place and is not that place itself. */
function isWithinSampled({ node, parentPath }: NodePath): boolean {
  for (let above = parentPath; above !== null; above = above.parentPath) {
    const { loc } = above.node;
    if (loc?.filename === undefined || loc.filename === null) continue;
    const isSamePlace = node.loc?.filename === loc.filename && placeOf("", node.loc) === placeOf("", loc);
    if (sampledPlaces.has(placeOf(loc.filename, loc)) && !isSamePlace) return true;
  }
  return false;
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, "only-sampled", {
    shouldIgnore: (path) =>
      isWithinSampled(path as NodePath) ? "within a sampled place, and not sampled itself" : undefined,
  }),
];
