/** Builds the runner of the engine `wasm`: its process, and the files that it loads into the interpreter. */
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type BuildOptions, type BuildResult, build } from "esbuild";
import { CompileFlags, EvalFlags, QuickJS } from "quickjs-wasi";

const root = join(import.meta.dirname, "..");
const require = createRequire(import.meta.url);

/** The interpreter and its extensions, in the package that has them. */
const BINARIES = {
  "quickjs.wasm": "quickjs.wasm",
  "url.wasm": "extensions/url/url.so",
  "encoding.wasm": "extensions/encoding/encoding.so",
  "structured-clone.wasm": "extensions/structured-clone/structured-clone.so",
} as const;

/** Writes the files into a folder, which need not exist. */
export async function buildWasmRunner(outdir: string): Promise<BuildResult<{ metafile: true }>[]> {
  const common = {
    absWorkingDir: root,
    bundle: true,
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    minify: true,
    keepNames: true,
    outdir,
  } as const satisfies BuildOptions;
  mkdirSync(outdir, { recursive: true });
  const results = await Promise.all([
    build({
      ...common,
      entryPoints: {
        runner: join(root, "runner-image/wasm/main.ts"),
        python: join(root, "runner-image/wasm/python.ts"),
      },
      outExtension: { ".js": ".mjs" },
      format: "esm",
      platform: "node",
      target: "node22",
    }),
    build({
      ...common,
      entryPoints: { inside: join(root, "runner-image/wasm/inside/main.ts") },
      format: "iife",
      platform: "neutral",
      mainFields: ["module", "main"],
      target: "es2023",
      inject: ["preparations", "buffer"].map((name) => join(root, `runner-image/wasm/inside/${name}.ts`)),
      alias: { "node:util": join(root, "runner-image/wasm/inside/util.ts") },
    }),
  ]);
  const packaged = dirname(require.resolve("quickjs-wasi/package.json"));
  for (const [name, path] of Object.entries(BINARIES)) copyFileSync(join(packaged, path), join(outdir, name));
  await compileInside(outdir);
  writeFileSync(join(outdir, "python.json"), JSON.stringify(pythonSources()));
  return results;
}

/** Has the interpreter compile its part inside once, which takes it longer than all else that it does before a program. */
async function compileInside(outdir: string): Promise<void> {
  const vm = await QuickJS.create({ wasm: readFileSync(join(outdir, "quickjs.wasm")) });
  const text = join(outdir, "inside.js");
  const flags = CompileFlags.STRIP_SOURCE | CompileFlags.STRIP_DEBUG;
  writeFileSync(
    join(outdir, "inside.bin"),
    vm.compile(readFileSync(text, "utf8"), "ptc:inside", EvalFlags.TYPE_GLOBAL, flags),
  );
  vm.dispose();
  rmSync(text);
}

/** The texts of the Python runner, and of what prepares Pyodide for it, by their paths below /opt/ptc. */
function pythonSources(): Record<string, string> {
  const sources: Record<string, string> = {};
  for (const folder of ["runner-image/python", "runner-image/wasm/python"])
    for (const path of globSync("**/*.py", { cwd: join(root, folder) }).sort())
      sources[path] = readFileSync(join(root, folder, path), "utf8");
  return sources;
}
