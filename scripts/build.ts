/**
 * Builds `dist/`: the command, bundled so that it starts fast, and the runner, one file that goes into the image. Types
 * are `tsc`'s to check; nothing here does.
 */
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

/**
 * The one dependency that is bundled as well. To load it as it is takes a quarter of the start of a run, nearly all of that
 * for parts of it that ptc does not use.
 */
const BUNDLED_DEPENDENCY = "dockerode";

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
const [{ metafile }] = await Promise.all([
  build({
    ...common,
    entryPoints: {
      "cli/ptc": "cli/ptc.ts",
      "broker/schemas/schema-worker": "broker/schemas/schema-worker.ts",
      "archive/sqlite/writer/writer-worker": "archive/sqlite/writer/writer-worker.ts",
    },
    outdir: dist,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    target: "node20",
    external: [
      ...Object.keys(dependencies).filter((name) => name !== BUNDLED_DEPENDENCY),
      "docker-modem/lib/ssh",
    ],
    // Its CommonJS form finds its parts through a variable, where no bundler sees them.
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    plugins: [withoutUnused()],
    metafile: true,
    // Bundled CommonJS packages require Node's own modules.
    banner: {
      js: 'import { createRequire as makeRequire } from "node:module";\nconst require = makeRequire(import.meta.url);',
    },
  }),
  build({
    ...common,
    entryPoints: ["runner-image/node/main.ts"],
    outfile: join(dist, "image/runner.mjs"),
    target: "node22",
    minify: true,
    keepNames: true,
  }),
]);
chmodSync(join(dist, "cli/ptc.js"), 0o755);
cpSync(join(root, "runner-image/guard.pl"), join(dist, "image/guard.pl"));
cpSync(join(root, "sandbox/walls/probe.js"), join(dist, "sandbox/walls/probe.js"));
cpSync(join(root, "server/pages/assets"), join(dist, "server/pages/assets"), { recursive: true });
writeFileSync(join(dist, "THIRD_PARTY_LICENSES"), bundledPackages(metafile).map(licenceOf).join("\n\n"));

/** Leaves BuildKit sessions out of the Docker client, and loads its SSH client when an engine is reached by SSH. */
function withoutUnused(): Plugin {
  const session = "exports = () => { throw new Error('ptc uses no BuildKit sessions'); };";
  const ssh =
    "exports = (...args) => createRequire(require.resolve('dockerode'))('docker-modem/lib/ssh')(...args);";
  return {
    name: "without-unused",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\/(?:session|ssh)$/ }, ({ path, importer }) =>
        /node_modules\/(?:dockerode|docker-modem)\/lib\//.test(importer)
          ? { path: path.slice(2), namespace: "unused" }
          : undefined,
      );
      onLoad({ filter: /.*/, namespace: "unused" }, ({ path }) => ({
        contents:
          path === "session"
            ? `module.${session}`
            : `const { createRequire } = require("node:module"); module.${ssh}`,
        loader: "js",
      }));
    },
  };
}

/** Packages of which something is in the output. */
function bundledPackages({ inputs }: Metafile): string[] {
  const names = Object.keys(inputs).flatMap(
    (file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? [],
  );
  return [...new Set(names)].sort();
}

function licenceOf(name: string): string {
  const folder = join(root, "node_modules", name);
  const file = readdirSync(folder).find((each) => /^licen[cs]e(?:[.-]|$)/i.test(each));
  const { license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { license?: string };
  if (file === undefined && license === undefined)
    throw new Error(`${name} does not say under which licence it is`);
  const text = file === undefined ? `${license}` : readFileSync(join(folder, file), "utf8").trim();
  return `${name}\n${"=".repeat(name.length)}\n\n${text}\n`;
}
