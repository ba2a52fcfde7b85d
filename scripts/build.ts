/**
 * Builds `dist/`: the command, bundled so that it starts fast, and the runner, one file that goes into the image. Types
 * are `tsc`'s to check; nothing here does.
 */
import { chmodSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

/** Packages that are few files of theirs, or that every start needs. What npm installs beside ptc are its `dependencies`. */
const BUNDLED = ["acorn", "commander", "gpt-tokenizer", "porter2", "yaml", "zod"];

const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  dependencies: Record<string, string>;
};

const common: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "node",
  legalComments: "none",
  logLevel: "warning",
};

rmSync(dist, { recursive: true, force: true });
await Promise.all([
  build({
    ...common,
    entryPoints: {
      "cli/ptc": "cli/ptc.ts",
      "broker/schema-worker": "broker/schema-worker.ts",
      "archive/writer-worker": "archive/writer-worker.ts",
    },
    outdir: dist,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    target: "node20",
    external: Object.keys(dependencies),
    // Bundled CommonJS packages require Node's own modules.
    banner: {
      js: 'import { createRequire as makeRequire } from "node:module";\nconst require = makeRequire(import.meta.url);',
    },
  }),
  build({
    ...common,
    entryPoints: ["runner-image/main.ts"],
    outfile: join(dist, "image/runner.mjs"),
    target: "node22",
    minify: true,
    keepNames: true,
  }),
]);
chmodSync(join(dist, "cli/ptc.js"), 0o755);
cpSync(join(root, "cli/run-report/page"), join(dist, "cli/run-report/page"), { recursive: true });
writeFileSync(join(dist, "THIRD_PARTY_LICENSES"), BUNDLED.map(licenceOf).join("\n\n"));

function licenceOf(name: string): string {
  const folder = join(root, "node_modules", name);
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt"].map((each) => join(folder, each)).find(existsSync);
  if (file === undefined) throw new Error(`${name} has no licence file`);
  return `${name}\n${"=".repeat(name.length)}\n\n${readFileSync(file, "utf8").trim()}\n`;
}
