import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { cruise, type ICruiseResult } from "dependency-cruiser";
import { describe, expect, it } from "vitest";
import { importedByCommands } from "../../scripts/command-imports.ts";
import { folderCycles } from "../../scripts/folder-cycles.ts";
import { FOLDERS, forbidden, options } from "../../scripts/import-rules.ts";

/** Packages that one file or folder may import. */
const OWNED_PACKAGES = [
  ...[
    "@cedar-policy/cedar-wasm",
    "@napi-rs/keyring",
    "ipaddr.js",
    "undici",
    "dockerode",
    "@kubernetes/client-node",
    "jose",
    "oauth4webapi",
    "@modelcontextprotocol/node",
    "hono",
    "@hono/node-server",
    "@simplewebauthn/server",
    "pg",
    "quickjs-wasi",
    "node-inspect-extracted",
    "esbuild",
    "typescript",
  ],
  ...["json-schema-to-typescript", "@modelcontextprotocol/client", "@modelcontextprotocol/server"],
];
const PACKAGES = [...OWNED_PACKAGES, "@opentelemetry/api"];

/** What the files of the tree can import. */
const IMPORTED = [
  ...["broker/session.ts", "protocol/limits.ts", "secrets/redaction.ts", "cli/main.ts", "server/mcp.ts"],
  ...[
    "codegen/typescript/print.ts",
    "codegen/python/print.ts",
    "sandbox/sandbox-error.ts",
    "execution/run.ts",
  ],
  ...[
    "sandbox/docker/docker-engine.ts",
    "sandbox/kubernetes/claims.ts",
    "sandbox/sandbox-starter.ts",
    "upstream/upstream-error.ts",
  ],
  ...[
    "upstream/mcp/mcp-upstream.ts",
    "languages/typescript/bundling/bundle.ts",
    "languages/python/python.ts",
  ],
  ...["archive/sqlite/sqlite-archive-store.ts", "archive/portable/portable-format.ts", "project/host.ts"],
  ...["tests/fake.ts", "bench/fake.ts"],
];

/** An import of a file, which is called `x.ts` where any would do. */
interface Import {
  what: string;
  file: string;
  /** What is imported, after `type ` or `lazy ` where it is in that way. */
  imported: string;
}

/** At least one import for each rule that breaks it. */
const PLANTED: readonly (Import & { rule: string })[] = [
  ...readFileSync(join(import.meta.dirname, "planted-violations.txt"), "utf8")
    .split("\n")
    .filter((line) => /^[^#]/.test(line))
    .map((line) => {
      const [rule = "", file = "", imported = "", what = ""] = line.split(" | ");
      return { rule, file, imported, what };
    }),
  ...FOLDERS.filter((folder) => folder !== "cli").map((folder) => ({
    what: `the commands into ${folder}/`,
    file: `${folder}/x.ts`,
    imported: "../cli/main.ts",
    rule: `${folder}-imports`,
  })),
  ...OWNED_PACKAGES.map((imported) => ({
    what: `${imported} a second time`,
    file: "broker/x.ts",
    imported,
    rule: `one-importer-of-${imported}`,
  })),
];

function importText(imported: string): string {
  const [, how, from] = /^(?:(type|lazy) )?(.*)$/.exec(imported) ?? [];
  if (how === "type") return `import type { some } from "${from}";\nexport type X = typeof some;`;
  return how === "lazy" ? `export const x = () => import("${from}");` : `import "${from}";`;
}

/** The rules that each of some imports breaks, applied to all of them in one tree. */
async function brokenRules(imports: readonly Import[]): Promise<string[][]> {
  const tree = mkdtempSync(join(tmpdir(), "ptc-house-"));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  };
  try {
    for (const path of IMPORTED) write(path, "export const some = 1;");
    for (const name of PACKAGES) {
      write(
        `node_modules/${name}/package.json`,
        JSON.stringify({ name, version: "1.0.0", main: "index.js" }),
      );
      write(`node_modules/${name}/index.js`, "module.exports = 1;");
    }
    const dependencies = Object.fromEntries(PACKAGES.map((name) => [name, "*"]));
    write("package.json", JSON.stringify({ name: "tree", type: "module", dependencies }));
    const places = imports.map(({ file, imported }, i) => {
      const place = file.replace(/\bx\.ts$/, `x${i}.ts`);
      write(place, importText(imported.replace("./x.ts", `./x${i}.ts`)));
      return place;
    });
    const settings = { ...options, baseDir: tree, ruleSet: { forbidden }, validate: true };
    const { output } = await cruise([...new Set(places.map((place) => place.split("/")[0] ?? ""))], settings);
    const { violations } = (output as ICruiseResult).summary;
    return places.map((place) =>
      violations.filter(({ from }) => from === place).map(({ rule }) => rule.name),
    );
  } finally {
    rmSync(tree, { recursive: true });
  }
}

const found = await brokenRules(PLANTED);

describe("the import rules", () => {
  it.each(PLANTED.map((planted, i) => ({ ...planted, broken: found[i] })))(
    "refuse to import $what",
    ({ rule, broken }) => {
      expect(broken).toContain(rule);
    },
  );

  it("are each broken by an import that is planted", () => {
    const planted = new Set(PLANTED.map(({ rule }) => rule));
    expect(forbidden.map(({ name }) => name ?? "").filter((name) => !planted.has(name))).toEqual([]);
  });

  it.each([
    ["the owner of a package", "sandbox/docker/docker-engine.ts", "dockerode"],
    ["a folder", "sandbox/docker/a.ts", "../../protocol/limits.ts"],
    ["the folder that redacts connections", "upstream/redact-connection.ts", "../secrets/redaction.ts"],
    ["what talks to MCP servers", "upstream/mcp/a.ts", "@modelcontextprotocol/client"],
    ["the table of languages", "languages/languages.ts", "./typescript/bundling/bundle.ts"],
    ["a language", "languages/typescript/a.ts", "../../codegen/typescript/print.ts"],
    ["the choice of an engine", "project/sandboxes/engine.ts", "../../sandbox/docker/docker-engine.ts"],
  ])("let %s, %s, import %s", async (what, file, imported) => {
    expect(await brokenRules([{ what, file, imported }])).toEqual([[]]);
  });

  it("let nothing else in project/ choose an engine", async () => {
    const chooses = { what: "", file: "project/x.ts", imported: "../sandbox/docker/docker-engine.ts" };
    expect(await brokenRules([chooses])).toEqual([["docker-is-one-engine"]]);
  });
});

describe("the rule that folders import one way", () => {
  const imports = (files: Record<string, string[]>) => new Map(Object.entries(files));

  it("finds no circle where every import leads down, also between a folder and a file beside it", () => {
    const down = imports({
      "cli/main.ts": ["broker/policy/policy.ts", "base/text.ts"],
      "broker/dispatcher.ts": ["broker/policy/policy.ts"],
      "broker/policy/policy.ts": ["base/text.ts"],
      "base/text.ts": [],
    });
    expect(folderCycles(down)).toEqual([]);
  });

  it.each([
    {
      where: "folders at the top that import each other through different files",
      files: { "broker/a.ts": ["upstream/a.ts"], "upstream/b.ts": ["broker/b.ts"] },
      want: { folder: "", members: ["broker", "upstream"] },
    },
    {
      where: "three folders deep below others",
      files: {
        "broker/x/a/1.ts": ["broker/x/b/1.ts"],
        "broker/x/b/2.ts": ["broker/x/c/1.ts"],
        "broker/x/c/2.ts": ["broker/x/a/2.ts"],
      },
      want: { folder: "broker/x", members: ["broker/x/a", "broker/x/b", "broker/x/c"] },
    },
    {
      where: "a folder and the file beside it",
      files: { "archive/store.ts": ["archive/rows/1.ts"], "archive/rows/2.ts": ["archive/store.ts"] },
      want: { folder: "archive", members: ["archive/rows", "archive/store.ts"] },
    },
    {
      where: "a folder and a package of its own name elsewhere",
      files: {
        "a/x.ts": ["node_modules/b/x.js", "b/x.ts"],
        "b/x.ts": ["c/x.ts"],
        "c/x.ts": ["a/y.ts"],
      },
      want: { folder: "", members: ["a", "b", "c"] },
    },
  ])("finds $where", ({ files, want }) => {
    const [found, ...others] = folderCycles(imports(files as Record<string, string[]>));
    expect(others).toEqual([]);
    expect(found).toMatchObject(want);
    expect(found?.imports).toHaveLength(want.members.length);
  });
});

describe("the files that commands import", () => {
  it("are counted once each, also as types and from folders below, without those of cli/ and packages", () => {
    const imports = new Map([
      ["cli/main.ts", ["cli/command.ts", "project/host.ts", "node_modules/commander/index.js"]],
      ["cli/commands/run.ts", ["project/host.ts", "base/json.ts", "../elsewhere.ts"]],
      ["server/mcp/service.ts", ["broker/session.ts"]],
    ]);
    const found = importedByCommands(imports, ["base", "broker", "cli", "project", "server"]);
    expect(found).toEqual(["base/json.ts", "project/host.ts"]);
  });
});
