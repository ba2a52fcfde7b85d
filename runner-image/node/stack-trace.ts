import { findSourceMap, type SourceMapping } from "node:module";
import { PROGRAM_SCHEME } from "../../protocol/runners.ts";

type SourceMap = NonNullable<ReturnType<typeof findSourceMap>>;
/** Node.js provides the fifth value of a mapping, which its types leave out. */
type Entry = Partial<SourceMapping & { name: string }>;

const frames = new WeakMap<object, readonly string[]>();

/**
 * From now on the stack of an error has only the frames in the user's file, with positions in that file. A program that sets its
 * own `Error.prepareStackTrace` gets what Node.js would give it.
 *
 * @param bundleUrls the URLs under which bundles are imported.
 */
export function installStackTraces(bundleUrls: ReadonlySet<string>): void {
  const { prepareStackTrace: print = String } = Error;
  Error.prepareStackTrace = (error, trace) => {
    const shown = readFrames(trace, bundleUrls);
    frames.set(error, shown);
    return [print(error, []), ...shown].join("\n    at ");
  };
}

/** The frames in the error's printed stack, as `name (file:line:column)`; `undefined` if something else printed it. */
export function printedFrames(error: Error): readonly string[] | undefined {
  return frames.get(error);
}

function readFrames(trace: readonly NodeJS.CallSite[], bundleUrls: ReadonlySet<string>): string[] {
  return trace.flatMap((site, index) => {
    const bundleUrl = site.getFileName() ?? "";
    const sourceMap = bundleUrls.has(bundleUrl) ? findSourceMap(bundleUrl) : undefined;
    if (sourceMap === undefined) return [];
    const { originalSource, originalLine, originalColumn } = find(sourceMap, site);
    const [, file] = originalSource?.split(PROGRAM_SCHEME, 2) ?? [];
    if (file === undefined) return [];
    const place = `${file}:${(originalLine ?? 0) + 1}:${(originalColumn ?? 0) + 1}`;
    const name = functionName(sourceMap, site, trace[index + 1]);
    return [name === undefined ? place : `${name} (${place})`];
  });
}

/** If the bundler renamed a function, the mapping of the place where it was called has its name. */
function functionName(
  sourceMap: SourceMap,
  site: NodeJS.CallSite,
  caller: NodeJS.CallSite | undefined,
): string | undefined {
  const own = site.getFunctionName() ?? site.getMethodName();
  if (own === null) return undefined;
  const calledAs =
    caller?.getFileName() === site.getFileName()
      ? find(sourceMap, caller as NodeJS.CallSite).name
      : undefined;
  if (site.isConstructor()) return `new ${calledAs ?? own}`;
  const type = site.getTypeName();
  return calledAs ?? (type === null || type === "global" ? own : `${type}.${own}`);
}

function find(sourceMap: SourceMap, site: NodeJS.CallSite): Entry {
  return sourceMap.findEntry((site.getLineNumber() ?? 1) - 1, (site.getColumnNumber() ?? 1) - 1) as Entry;
}
