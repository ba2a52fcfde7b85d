/** What commands load, by the sources that the build put into each file that Node.js loads for them. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { fixtureServer, usePtc } from "./ptc-process.ts";

const newProject = usePtc();

/** Prints the path of each file that Node.js loads. */
const PRINTS_LOADED = `import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) {
  if (url.startsWith("file:")) process._rawDebug("loaded " + url);
  return next(url, context);
} });`;

/** The built files that a command loads, and the sources in them. */
function loadedBy(project: ReturnType<typeof newProject>, words: readonly string[]) {
  const [node = "", command = "", ...args] = project.command(words);
  const hook = `data:text/javascript,${encodeURIComponent(PRINTS_LOADED)}`;
  const { stderr, stdout, status } = spawnSync(node, ["--import", hook, command, ...args], {
    cwd: project.directory,
    env: { ...process.env, XDG_RUNTIME_DIR: join(project.directory, "run") },
    encoding: "utf8",
  });
  const root = dirname(dirname(dirname(realpathSync(command))));
  const built = JSON.parse(readFileSync(join(root, "dist/sources.json"), "utf8")) as Record<string, string[]>;
  const prefix = pathToFileURL(join(root, "/")).href;
  const files = [...stderr.matchAll(/^loaded (.*)$/gm)].map(([, url = ""]) => url.slice(prefix.length));
  return { files, sources: files.flatMap((file) => built[file] ?? []), stdout, status };
}

/** What only programs, servers, engines and people's pages need. */
const NOT_OF_A_PROJECT = {
  TypeScript: /node_modules\/typescript\//,
  esbuild: /node_modules\/esbuild\//,
  "the client of Kubernetes": /node_modules\/@kubernetes\/|^sandbox\/kubernetes\//,
  "MCP's SDK": /node_modules\/@modelcontextprotocol\//,
  PostgreSQL: /node_modules\/pg\b|^archive\/postgres\//,
  "the check of arguments": /node_modules\/ajv\//,
  "HTTP for other machines": /node_modules\/undici\//,
  "ptc's own servers": /^server\/(?:mcp|http)\//,
  "what carries programs out": /^execution\/(?:program|run)\.ts$/,
  "the console": /^console\//,
  telemetry: /^telemetry\//,
};
const ENGINES = {
  "the client of Docker": /node_modules\/(?:dockerode|docker-modem)\/|^sandbox\/docker\//,
  "gVisor's runsc": /^sandbox\/runsc\//,
};
const OF_TYPES = {
  "what prints types": /node_modules\/(?:json-schema-to-typescript|js-yaml|@apidevtools)\//,
};
const ARCHIVE = { "the archive": /^archive\// };
const TOOLS = { "what prints tools": /^codegen\/typescript\/typescript-printer\.ts$/ };
const ALL_OF_A_PROJECT = {
  "the configuration": /^configuration\//,
  zod: /node_modules\/zod\//,
  YAML: /node_modules\/yaml\//,
  "the catalog": /^catalog\//,
};

const everyEngine = { ...NOT_OF_A_PROJECT, ...ENGINES };

/** What each command may not load, and in how many files the rest is at most. */
const COMMANDS: readonly [words: string, most: number, without: Readonly<Record<string, RegExp>>][] = [
  ["--version", 3, { ...everyEngine, ...OF_TYPES, ...ARCHIVE, ...TOOLS, ...ALL_OF_A_PROJECT }],
  ["--help", 3, { ...everyEngine, ...OF_TYPES, ...ARCHIVE, ...TOOLS, ...ALL_OF_A_PROJECT }],
  ["completion bash", 3, { ...everyEngine, ...OF_TYPES, ...ARCHIVE, ...TOOLS, ...ALL_OF_A_PROJECT }],
  ["list", 12, { ...everyEngine, ...OF_TYPES, ...ARCHIVE }],
  ["list --json", 12, { ...everyEngine, ...OF_TYPES, ...ARCHIVE }],
  ["search echo", 12, { ...everyEngine, ...OF_TYPES, ...ARCHIVE }],
  ["inspect fixture.echo", 16, { ...everyEngine, ...ARCHIVE }],
  ["runs list", 12, { ...everyEngine, ...OF_TYPES, ...TOOLS }],
  ["doctor --quick", 20, { ...NOT_OF_A_PROJECT, ...OF_TYPES, ...TOOLS }],
];

describe("a command loads what it uses:", () => {
  it.each(COMMANDS)("ptc %s", async (words, most, without) => {
    const project = newProject({ "ptc.yaml": { servers: [fixtureServer("fixture", "echo-v1.mjs")] } });
    if (words !== "--version") await project.generate();
    const { files, sources } = loadedBy(project, words.split(" "));
    expect(files, "the files that are loaded").toContain("dist/cli/own-process.js");
    expect(sources.length).toBeGreaterThan(0);
    const loaded = Object.entries(without).flatMap(([what, pattern]) => {
      const found = sources.find((source) => pattern.test(source));
      return found === undefined ? [] : [`${what}: ${found}`];
    });
    expect(loaded).toEqual([]);
    expect(files.length, files.join("\n")).toBeLessThanOrEqual(most);
  });

  it("ptc alone, which says what it is and the next command", () => {
    const { files, stdout, status } = loadedBy(newProject(), []);
    expect(status).toBe(0);
    expect(stdout.trimEnd().split("\n")).toHaveLength(5);
    expect(stdout).toContain("ptc up");
    expect(files.length, files.join("\n")).toBeLessThanOrEqual(4);
  });

  it("ptc run, which loads an engine before what runs programs, so that a sandbox starts meanwhile", () => {
    const project = newProject({ "p.js": "globalThis.result = 1;" });
    const { sources, status } = loadedBy(project, ["run", "--no-host", "p.js"]);
    expect(status).toBe(0);
    const first = (pattern: RegExp) => sources.findIndex((source) => pattern.test(source));
    const engine = first(/^sandbox\/(?:docker|runsc)\/[a-z-]*engine\.ts$/);
    expect(engine).toBeGreaterThan(0);
    expect(first(/^execution\/(?:program|run)\.ts$/)).toBeGreaterThan(engine);
  });

  it("in files that the build knows the sources of", () => {
    const { files, sources } = loadedBy(newProject(), ["list"]);
    expect(files.filter((file) => file !== "dist/cli/ptc.js").length).toBeGreaterThan(3);
    expect(sources).toContain("cli/commands/tools.ts");
  });
});

describe("the built command", () => {
  it("has every file that it loads later", () => {
    const [, command = ""] = newProject().command([]);
    const dist = dirname(dirname(realpathSync(command)));
    const scripts = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.m?js$/.test(name),
    );
    const loaded = scripts.flatMap((name) => {
      const text = readFileSync(join(dist, name), "utf8");
      return [...text.matchAll(/\bimport\("(\.{1,2}\/[^"$]+)"\)/g)].map(([, path = ""]) =>
        join(dirname(join(dist, name)), path),
      );
    });
    expect(loaded.length).toBeGreaterThan(100);
    expect(loaded.filter((path) => !existsSync(path))).toEqual([]);
  });

  it("completes what only the project has", () => {
    const project = newProject({ "ptc.yaml": { servers: [fixtureServer("notes", "echo-v1.mjs")] } });
    const { stdout } = loadedBy(project, ["complete-words", "--", "audit", "--server", ""]);
    expect(stdout).toBe("notes\t\n");
  });
});

describe("a thread that every run has starts from one file:", () => {
  it.each(["broker/schemas/schema-worker", "archive/sqlite/writer/writer-worker"])("%s", (worker) => {
    const [, command = ""] = newProject().command([]);
    const dist = dirname(dirname(realpathSync(command)));
    const text = readFileSync(join(dist, `${worker}.js`), "utf8");
    expect(text.match(/\b(?:import|from)\s*\(?"\.[^"]*"/g)).toBeNull();
  });
});
