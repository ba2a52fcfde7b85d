/**
 * Merges the chunks that a command loads into one file. esbuild makes a chunk for each set of entry points that share code, so that a
 * command loads a hundred small files, and Node.js takes longer to find ten than to read one. Each module still stands in one file
 * alone, so that a command and what it loads later share classes and state.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
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
  const texts = new MovedImports(root, homes, outputs);
  const outOf = (output: Output) => relative(outdir, output).replace(/\.js$/, "");
  const { metafile: merged } = await build({
    ...options,
    entryPoints: [...new Set(homes.values())].map((home) => ({ in: `merged:${home}`, out: outOf(home) })),
    splitting: false,
    metafile: true,
    plugins: [withMerged(root, homes, texts, options.banner.js)],
  });
  for (const [output, { imports }] of Object.entries(outputs))
    if (!homes.has(output) && imports.some(({ path }) => homes.has(path)))
      writeFileSync(join(root, output), texts.of(output));
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

/** An import of another built file, as esbuild prints it: with names, or of its effects alone. */
const IMPORT = /import(?:\{([^{}]*)\}from)?"(\.[^"]+)";?/g;

/** The texts of built files that import what was merged from where it is now. */
class MovedImports {
  readonly #root: string;
  readonly #homes: ReadonlyMap<Output, Output>;
  readonly #outputs: Metafile["outputs"];
  readonly #places: ReadonlyMap<Output, number>;
  /** How many chunks of a file export a name. */
  readonly #takers = new Map<string, number>();

  constructor(root: string, homes: ReadonlyMap<Output, Output>, outputs: Metafile["outputs"]) {
    this.#root = root;
    this.#homes = homes;
    this.#outputs = outputs;
    this.#places = new Map([...homes.keys()].map((chunk, index) => [chunk, index]));
    for (const [chunk, home] of homes)
      for (const name of this.exportsOf(chunk))
        this.#takers.set(`${home} ${name}`, (this.#takers.get(`${home} ${name}`) ?? 0) + 1);
  }

  exportsOf(chunk: Output): readonly string[] {
    return this.#outputs[chunk]?.exports ?? [];
  }

  /** The name that the merged file exports for what a chunk exports. It is the same one where no other chunk of it has it. */
  nameOf(chunk: Output, name: string): string {
    const isAlone = this.#takers.get(`${this.#homes.get(chunk)} ${name}`) === 1 && name !== "default";
    return isAlone ? name : `c${this.#places.get(chunk)}_${name}`;
  }

  /** The text of a built file. A merged file is imported once, where the first of its chunks was. */
  of(output: Output): string {
    const own = this.#homes.get(output);
    const names = new Map<Output, string[]>();
    const text = readFileSync(join(this.#root, output), "utf8");
    const moved = text.replace(IMPORT, (whole, given: string | undefined, path: string) => {
      const chunk = join(dirname(output), path);
      const home = this.#homes.get(chunk);
      if (home === undefined || home === own) return whole;
      const isFirst = !names.has(home);
      const wanted = (given ?? "").split(",").filter((each) => each.trim() !== "");
      names.set(home, [
        ...(names.get(home) ?? []),
        ...wanted.map((each) => {
          const [name = "", local = name] = each.trim().split(/\s+as\s+/);
          const now = this.nameOf(chunk, name);
          return now === local ? now : `${now} as ${local}`;
        }),
      ]);
      return isFirst ? placeholder(home) : "";
    });
    return [...names].reduce((all, [home, taken]) => {
      const from = relative(dirname(output), home);
      const source = JSON.stringify(from.startsWith(".") ? from : `./${from}`);
      const line = taken.length === 0 ? `import${source};` : `import{${taken.join(",")}}from${source};\n`;
      return all.replace(placeholder(home), () => line);
    }, moved);
  }
}

const placeholder = (home: Output) => `/* merged: ${home} */`;

/** Has a merged file export what its chunks do. */
function withMerged(
  root: string,
  homes: ReadonlyMap<Output, Output>,
  texts: MovedImports,
  banner: string,
): Plugin {
  return {
    name: "with-merged",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^merged:/ }, ({ path }) => ({
        path: path.slice("merged:".length),
        namespace: "merged",
      }));
      onResolve({ filter: /.*/ }, ({ path, kind, resolveDir }) => {
        if (kind === "entry-point") return undefined;
        const chunk = relative(root, join(resolveDir, path));
        const isMerged = kind === "import-statement" && path.startsWith(".") && homes.has(chunk);
        return isMerged ? { path: join(root, chunk) } : { path, external: true };
      });
      onLoad({ filter: /.*/, namespace: "merged" }, ({ path: home }) => ({
        contents: [...homes]
          .filter(([, each]) => each === home)
          .map(([chunk]) => {
            const names = texts.exportsOf(chunk).map((name) => `${name} as ${texts.nameOf(chunk, name)}`);
            const source = JSON.stringify(`./${relative(dirname(home), chunk)}`);
            return names.length === 0
              ? `import ${source};`
              : `export { ${names.join(", ")} } from ${source};`;
          })
          .join("\n"),
        resolveDir: join(root, dirname(home)),
      }));
      // Once in each file is enough.
      onLoad({ filter: /\.js$/ }, ({ path }) => ({
        contents: texts.of(relative(root, path)).replace(banner, ""),
      }));
    },
  };
}
