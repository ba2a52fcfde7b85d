/** Builds `dist/`: the compiled sources, and the runner as the one file that goes into the image. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
const compiled = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit",
});
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

mkdirSync(join(dist, "image"));
await build({
  entryPoints: [join(root, "runner-image/main.ts")],
  outfile: join(dist, "image/runner.mjs"),
  bundle: true,
  minify: true,
  keepNames: true,
  format: "esm",
  platform: "node",
  target: "node22",
  legalComments: "none",
  logLevel: "warning",
});
chmodSync(join(dist, "cli/ptc.js"), 0o755);
