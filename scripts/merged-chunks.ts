/**
 * Merges the chunks that a command loads into one file. esbuild makes a chunk for each set of entry points that share code, so that a
 * command loads a hundred small files, and Node.js takes longer to find ten than to read one. Each module still stands in one file
 * alone, so that a command and what it loads later share classes and state.
 */
import { readFileSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";

/** A built file, by its path from the root, as the metafile has it. */
type Output = string;

type Command = readonly Output[];

export interface MergeOptions {
  root: string;
  metafile: Metafile;
  /**
   * Whose chunks become one file, by the name of that file: those that each of some commands loads, where a command is the built files
   * that it loads in any case. A chunk goes into the first group that has it.
   */
  groups: Readonly<Record<string, readonly Command[]>>;
  /** The options of the build that made the chunks. */
  options: BuildOptions & { outdir: string; banner: { js: string } };
}

/** Merges chunks, and rewrites the files that import them. Returns the files that were written instead, as the metafile has them. */
export async function mergeChunks({ root, metafile, groups, options }: MergeOptions): Promise<Metafile> {
  const { outputs } = metafile;
  const outdir = relative(root, options.outdir);
  const homes = new Map<Output, Output>();
  for (const [name, commands] of Object.entries(groups)) {
    const [chunks = [], ...others] = commands.map((command) => loadedWith(command, outputs));
    const all = chunks.filter((chunk) => others.every((each) => each.includes(chunk)));
    for (const chunk of all)
      if (outputs[chunk]?.entryPoint === undefined && !homes.has(chunk))
        homes.set(chunk, join(outdir, "chunks", `${name}.js`));
  }
  const importers = Object.keys(outputs).filter(
    (output) => !homes.has(output) && outputs[output]?.imports.some(({ path }) => homes.has(path)),
  );
  const outOf = (output: Output) => relative(outdir, output).replace(/\.js$/, "");
  const { metafile: merged } = await build({
    ...options,
    entryPoints: [
      ...importers.map((output) => ({ in: join(root, output), out: outOf(output) })),
      ...[...new Set(homes.values())].map((home) => ({ in: `merged:${home}`, out: outOf(home) })),
    ],
    splitting: false,
    allowOverwrite: true,
    metafile: true,
    plugins: [withMoved(root, homes, outputs, options.banner.js)],
  });
  for (const chunk of homes.keys()) rmSync(join(root, chunk));
  return merged;
}

/** The source files in each built file, also of those that were merged. */
export function sourcesIn(built: Metafile, merged: Metafile): Record<Output, string[]> {
  const own = (inputs: Metafile["outputs"][Output]["inputs"] = {}) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []));
  const again = Object.entries(merged.outputs).map(([output, { inputs }]) => [
    output,
    own(inputs).flatMap((path) => own(built.outputs[path]?.inputs)),
  ]);
  const before = Object.entries(built.outputs).map(([output, { inputs }]) => [output, own(inputs)]);
  return Object.fromEntries([...before, ...again]) as Record<Output, string[]>;
}

/** The outputs that Node.js loads with some outputs, in the order in which it runs them. */
export function loadedWith(entries: readonly Output[], outputs: Metafile["outputs"]): Output[] {
  const loaded = new Set<Output>();
  const seen = new Set<Output>();
  const load = (output: Output) => {
    if (seen.has(output)) return;
    seen.add(output);
    for (const { path, kind, external } of outputs[output]?.imports ?? [])
      if (kind === "import-statement" && external !== true) load(path);
    loaded.add(output);
  };
  for (const entry of entries) load(entry);
  return [...loaded];
}

/** Has what is imported of a merged chunk come from the merged file. */
function withMoved(
  root: string,
  homes: ReadonlyMap<Output, Output>,
  outputs: Metafile["outputs"],
  banner: string,
): Plugin {
  const chunks = [...homes.keys()];
  const nameIn = (chunk: Output, name: string) => `c${chunks.indexOf(chunk)}_${name}`;
  const exported = (chunk: Output, from: string, isMoved: boolean) => {
    const names = (outputs[chunk]?.exports ?? []).map((name) =>
      isMoved ? `${nameIn(chunk, name)} as ${name}` : `${name} as ${nameIn(chunk, name)}`,
    );
    const source = JSON.stringify(from);
    return names.length === 0 ? `import ${source};` : `export { ${names.join(", ")} } from ${source};`;
  };
  return {
    name: "with-moved",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^merged:/ }, ({ path }) => ({
        path: path.slice("merged:".length),
        namespace: "merged",
      }));
      onResolve({ filter: /.*/ }, ({ path, kind, importer, namespace, resolveDir }) => {
        if (kind === "entry-point") return undefined;
        if (namespace === "moved" || kind !== "import-statement" || !path.startsWith("."))
          return { path, external: true };
        const target = relative(root, join(resolveDir, path));
        const home = homes.get(target);
        if (home === undefined) return { path, external: true };
        const own = namespace === "merged" ? importer : homes.get(relative(root, importer));
        if (own === home) return { path: join(root, target) };
        const from = relative(resolveDir, join(root, home));
        return { path: target, suffix: `?${from.startsWith(".") ? from : `./${from}`}`, namespace: "moved" };
      });
      onLoad({ filter: /.*/, namespace: "merged" }, ({ path: home }) => ({
        contents: chunks
          .filter((chunk) => homes.get(chunk) === home)
          .map((chunk) => exported(chunk, `./${relative(dirname(home), chunk)}`, false))
          .join("\n"),
        resolveDir: join(root, dirname(home)),
      }));
      onLoad({ filter: /.*/, namespace: "moved" }, ({ path, suffix }) => ({
        contents: exported(path, suffix.slice(1), true),
      }));
      // Once in each file is enough.
      onLoad({ filter: /\.js$/ }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replace(banner, ""),
      }));
    },
  };
}
