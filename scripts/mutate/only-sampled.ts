/**
 * Which places a sample is drawn from, and a plugin for Stryker that leaves out mutants nested within a sampled place, which count as
 * separate places.
 */
import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** Passed in by Stryker: a node of Babel's syntax tree, and the path up from it. */
export interface NodePath {
  node: {
    type: string;
    end?: number | null;
    loc?: SourceLocation | null;
    static?: boolean;
    callee?: { property?: { name?: string } };
  };
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

const RUNS_LATER =
  /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression|ObjectMethod|ClassMethod|ClassPrivateMethod)$/;

/** Methods of arrays that call a function at once. */
const CALLS_AT_ONCE = new Set(
  "every filter find findIndex findLast flatMap forEach from map reduce some sort toSorted".split(" "),
);

/**
 * Whether a node runs only while its module loads: in no function but those that an array calls at once. All tests share a process
 * that loads each module once, so no test can notice a change there.
 */
export function runsOnlyWhileLoading(path: NodePath): boolean {
  for (let each = path.parentPath; each !== null; each = each.parentPath) {
    const { type, static: isStatic } = each.node;
    if (/^Class(Private)?Property$/.test(type) && isStatic !== true) return false;
    const method = each.parentPath?.node.callee?.property?.name ?? "";
    if (RUNS_LATER.test(type) && !CALLS_AT_ONCE.has(method)) return false;
  }
  return true;
}

/** The places of a node and of all that it lies in, from the inside. */
export function placesFrom(path: NodePath): string[] {
  const nodes: NodePath["node"][] = [];
  for (let each: NodePath | null = path; each !== null; each = each.parentPath) nodes.push(each.node);
  const fileLength = nodes.at(-1)?.end ?? 0;
  return nodes.map(({ loc }) => (loc ? placeOf(fileLength, loc) : ""));
}

/** Whether a node lies within a sampled place and is not that place itself. */
function isWithinSampled(path: NodePath): boolean {
  const [own, ...around] = placesFrom(path);
  return around.some((place) => place !== own && sampledPlaces.has(place));
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, "only-sampled", {
    shouldIgnore: (path) =>
      isWithinSampled(path as NodePath) ? "within a sampled place, and not sampled itself" : undefined,
  }),
];
