/**
 * Builds `dist/`: the command, bundled so that it starts fast; the package's exports with their declarations; and the runner, a
 * single file for the image. It does not check types; `tsc` does.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Command } from "commander";
import { type BuildOptions, build } from "esbuild";
import { type DeclaredCommand, describeCommands } from "../cli/declared-commands.ts";
import { COMMANDS_FILE } from "../cli/front.ts";
import { defineCommands } from "../cli/main.ts";
import { Settings } from "../configuration/settings/settings.ts";
import type { Surroundings } from "../project/surroundings.ts";
import { buildReseedLibrary, RESEED_MACHINES } from "../runner-image/reseed-library.ts";
import { withEsbuild, withoutUnused, withPartsLater, withPlainBuiltins } from "./bundled-parts.ts";
import { mergeChunks, sourcesIn } from "./merged-chunks.ts";
import { renderLicences } from "./third-party.ts";
import { buildWasmRunner } from "./wasm-runner.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

/** Packages that are installed and not bundled: separate programs, very large or platform-specific ones, and the user's own. */
const { dependencies, peerDependencies, exports } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
) as {
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  exports: Record<string, { default: string } | string>;
};

/** The package's exports, as paths in the sources. */
const EXPORTED = Object.values(exports).flatMap((each) =>
  typeof each === "string" ? [] : each.default.replace(/^\.\/dist\/(.*)\.js$/, "$1"),
);

const common = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "node",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
} satisfies BuildOptions;

const shared = {
  outdir: dist,
  // A quarter of the package is white space. Names stay as they are, so that a stack says what it would.
  minifyWhitespace: true,
  // Node.js shows the line that threw what nobody has caught.
  lineLimit: 160,
  target: "node22",
  // Making the schemas of all settings takes longer than most commands.
  define: { SETTINGS_OF_NO_FILE: JSON.stringify(JSON.stringify(Settings.parse({}))) },
  external: [
    ...Object.keys({ ...dependencies, ...peerDependencies }),
    ...["@napi-rs/keyring", "@cedar-policy/cedar-wasm"],
  ],
  // Its CommonJS form loads its parts through a variable, where bundlers do not find them.
  alias: {
    "jsonc-parser": "jsonc-parser/lib/esm/main.js",
    // The form for browsers has the same parts as one module each, and what nobody uses is left out.
    yaml: join(root, "node_modules/yaml/browser/dist/index.js"),
  },
  // Bundled CommonJS packages require Node's own modules.
  banner: {
    js: 'import { createRequire as makeRequire } from "node:module";\nconst require = makeRequire(import.meta.url);',
  },
} satisfies BuildOptions;

rmSync(dist, { recursive: true, force: true });
const built = await Promise.all([
  build({
    ...common,
    ...shared,
    entryPoints: {
      "cli/main": "cli/main.ts",
      "project/background/ask-host": "project/background/ask-host.ts",
      "project/background/background-host": "project/background/background-host.ts",
      "project/arguments/completed-values": "project/arguments/completed-values.ts",
      "base/faults": "base/faults.ts",
      ...Object.fromEntries(EXPORTED.map((path) => [path, `${path}.ts`])),
      "upstream/openapi/preparing-process": "upstream/openapi/preparing-process.ts",
      "generation/rewrite-worker": "generation/rewrite-worker.ts",
      "console/what-if-worker": "console/what-if-worker.ts",
      "generation/learning/learn-worker": "generation/learning/learn-worker.ts",
      "broker/policy/cedar/cedar-worker": "broker/policy/cedar/cedar-worker.ts",
      "archive/postgres/writer/postgres-worker": "archive/postgres/writer/postgres-worker.ts",
    },
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    plugins: [withoutUnused(), withEsbuild(), withPlainBuiltins()],
  }),
  // The threads that every run has start from one file each, because what it shares with commands stands in files with much else.
  build({
    ...common,
    ...shared,
    entryPoints: {
      "broker/schemas/schema-worker": "broker/schemas/schema-worker.ts",
      "archive/sqlite/writer/writer-worker": "archive/sqlite/writer/writer-worker.ts",
    },
    plugins: [withoutUnused({ isWhole: false }), withPlainBuiltins()],
  }),
  // Few files, because Node.js takes longer to find ten than to read one.
  build({
    ...common,
    ...shared,
    entryPoints: {
      "cli/start": "cli/start.ts",
      "cli/own-process": "cli/own-process.ts",
      "cli/introduction": "cli/introduction.ts",
    },
    plugins: [withoutUnused({ isWhole: false }), withPlainBuiltins(), withPartsLater(join(root, "cli"))],
  }),
  build({
    ...common,
    entryPoints: {
      runner: "runner-image/node/main.ts",
      launcher: "runner-image/launcher/launcher.ts",
      server: "runner-image/server/main.ts",
    },
    outdir: join(dist, "image"),
    outExtension: { ".js": ".mjs" },
    target: "node22",
    minify: true,
    keepNames: true,
  }),
]);
const [{ metafile }, { metafile: workers }, { metafile: first }] = built;
const outputOf = (source: string) =>
  Object.keys(metafile.outputs).find((output) => metafile.outputs[output]?.entryPoint === source) ?? source;
const outputsOf = (sources: readonly string[]) => sources.map(outputOf);
const TOOLS = [
  "cli/commands/tools.ts",
  "codegen/typescript/typescript-printer.ts",
  "programs/saved-programs.ts",
];
const RUNS = ["cli/commands/runs.ts", "project/open-project.ts"];
// What `ptc run` loads before it asks an engine for a sandbox, which then starts while the rest is loaded.
const SANDBOX = ["cli/commands/run-command.ts", "project/open-project.ts"];
const RUN = [...SANDBOX, "cli/commands/run.ts"];
const DOCTOR = ["cli/commands/doctor.ts"];
const merged = await mergeChunks({
  root,
  metafile,
  options: { ...common, ...shared },
  groups: {
    // What all commands load, what those of a project do, and then what each needs besides.
    main: [outputsOf(["cli/main.ts", "project/background/ask-host.ts", "base/faults.ts"])],
    project: [TOOLS, RUNS].map(outputsOf),
    archive: [RUNS, SANDBOX].map(outputsOf),
    sandbox: [outputsOf(SANDBOX)],
    tools: [outputsOf(TOOLS)],
    host: [DOCTOR, RUN].map(outputsOf),
    runs: [outputsOf(RUNS)],
    doctor: [outputsOf(DOCTOR)],
    run: [outputsOf(RUN)],
  },
});
// For tests of what commands load; no part of the package.
writeFileSync(
  join(dist, "sources.json"),
  JSON.stringify({
    ...sourcesIn(metafile, merged),
    ...Object.assign({}, ...[workers, first].map((each) => sourcesIn(each, { inputs: {}, outputs: {} }))),
  }),
);
const wasm = await buildWasmRunner(join(dist, "wasm"));
declare();
writeFileSync(join(dist, COMMANDS_FILE), JSON.stringify(await describeAllCommands()));
// Copied unchanged, because a Node.js that is too old must be able to parse it.
cpSync(join(root, "cli/ptc.js"), join(dist, "cli/ptc.js"));
chmodSync(join(dist, "cli/ptc.js"), 0o755);
for (const name of ["guard.pl", "relay.pl"])
  cpSync(join(root, `runner-image/${name}`), join(dist, `image/${name}`));
cpSync(join(root, "runner-image/python"), join(dist, "image/python"), {
  recursive: true,
  filter: (path) => basename(path) !== "__pycache__",
});
for (const machine of RESEED_MACHINES)
  writeFileSync(join(dist, `image/reseed-${machine}.so`), buildReseedLibrary(machine));
for (const name of ["probe.js", "probe-wasm.js"])
  cpSync(join(root, `sandbox/walls/${name}`), join(dist, `sandbox/walls/${name}`));
const pages = {
  absWorkingDir: root,
  outdir: join(dist, "console/assets"),
  minify: true,
  target: ["chrome120", "firefox120", "safari17"],
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
} satisfies BuildOptions;
await build({
  ...pages,
  entryPoints: ["console/assets/console.js", "console/assets/console.css", "console/assets/passkeys.js"],
  bundle: true,
  format: "iife",
});
// It makes a global of its own, which passkeys.js uses.
const library = await build({
  ...pages,
  entryPoints: { webauthn: "node_modules/@simplewebauthn/browser/dist/bundle/index.umd.min.js" },
});
cpSync(join(root, "server/pages/assets"), join(dist, "server/pages/assets"), { recursive: true });
const licences = renderLicences(
  root,
  [...built, ...wasm, library].map(({ metafile }) => metafile),
);
writeFileSync(join(dist, "THIRD_PARTY_LICENSES"), licences);

/** All commands as data, so that help and completion load none of them. */
async function describeAllCommands(): Promise<DeclaredCommand[]> {
  const programIn = async (folder: string) => {
    const program = new Command("ptc");
    const nowhere = { argv: [], env: {}, cwd: () => folder } as unknown as Surroundings;
    await defineCommands(program, nowhere, () => {});
    return program;
  };
  return describeCommands(await programIn("/"), await programIn("/elsewhere"));
}

/**
 * Writes the declarations of what is exported. They refer to no other file of ours than `library/api.ts` and the types of the settings, so each is made from its
 * own text alone.
 */
function declare(): void {
  const declared = [...EXPORTED, "library/api", "library/config"];
  const files = declared.map((path) => join(root, `${path}.ts`));
  const options = {
    declaration: true,
    emitDeclarationOnly: true,
    isolatedDeclarations: true,
    noCheck: true,
    noResolve: true,
    target: "es2023",
    module: "nodenext",
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    rootDir: root,
    outDir: dist,
    types: [],
  };
  const configuration = join(dist, "tsconfig.json");
  writeFileSync(configuration, JSON.stringify({ compilerOptions: options, files }));
  execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", configuration], {
    stdio: "inherit",
  });
  rmSync(configuration);
  for (const path of declared) {
    const file = join(dist, `${path}.d.ts`);
    writeFileSync(file, readFileSync(file, "utf8").replace(/(from "\.[^"]*)\.ts"/g, '$1.js"'));
  }
}
