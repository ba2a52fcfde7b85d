import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { cruise, type ICruiseResult } from "dependency-cruiser";
import { afterAll, describe, expect, it } from "vitest";
import { folderCycles } from "../../scripts/folder-cycles.ts";
import { forbidden, options } from "../../scripts/import-rules.ts";
import { OWNED_PACKAGES, PLANTED } from "./planted-violations.ts";

const root = mkdtempSync(join(tmpdir(), "ptc-house-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The files of a package that can be imported. */
function packageFiles(name: string): [path: string, text: string][] {
  return [
    [`node_modules/${name}/package.json`, JSON.stringify({ name, version: "1.0.0", main: "index.js" })],
    [`node_modules/${name}/index.js`, "module.exports = 1;"],
  ];
}

/** Applies the rules to one file of the given text, in a tree of its own with something to import. */
async function brokenRules(file: string, text: string): Promise<string[]> {
  const tree = mkdtempSync(join(root, "tree-"));
  const files: Record<string, string> = {
    "broker/session.ts": "export const session = 1;",
    "protocol/limits.ts": "export const limit = 1;",
    "secrets/redaction.ts": "export const redact = 1;",
    "cli/main.ts": "export const main = 1;",
    "codegen/typescript/print.ts": "export const printed = 1;",
    "codegen/python/print.ts": "export const stubs = 1;",
    "sandbox/sandbox-error.ts": "export const error = 1;",
    "sandbox/docker/docker-engine.ts": "export const engine = 1;",
    "sandbox/sandbox-starter.ts": "export const source = 1;",
    "upstream/upstream-error.ts": "export const error = 1;",
    "upstream/mcp/mcp-upstream.ts": "export const upstream = 1;",
    "languages/typescript/bundling/bundle.ts": "export const bundle = 1;",
    "languages/python/python.ts": "export const language = 1;",
    "wiring/execution.ts": "export const execution = 1;",
    "archive/sqlite/sqlite-archive-store.ts": "export const store = 1;",
    "archive/portable/portable-format.ts": "export const lines = 1;",
    "tests/fake.ts": "export const fake = 1;",
    "bench/fake.ts": "export const fake = 1;",
    ...Object.fromEntries([...OWNED_PACKAGES, "@opentelemetry/api"].flatMap(packageFiles)),
    "package.json": JSON.stringify({
      name: "tree",
      type: "module",
      dependencies: Object.fromEntries([...OWNED_PACKAGES, "@opentelemetry/api"].map((name) => [name, "*"])),
    }),
    "execution/run.ts": "export const run = 1;",
    "wiring/host.ts": "export const host = 1;",
    "server/mcp.ts": "export const mcp = 1;",
    [file]: text,
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), content);
  }
  const { output } = await cruise([dirname(file)], {
    ...options,
    baseDir: tree,
    ruleSet: { forbidden },
    validate: true,
  });
  return (output as ICruiseResult).summary.violations.map(({ rule }) => rule.name);
}

describe("the import rules", () => {
  it.each(PLANTED)("refuse to import %s", async (_what, file, text, rule) => {
    expect(await brokenRules(file, text)).toContain(rule);
  });

  it("are each broken by an import that is planted", () => {
    const planted = new Set(PLANTED.map(([, , , rule]) => rule));
    expect(forbidden.map(({ name }) => name ?? "").filter((name) => !planted.has(name))).toEqual([]);
  });

  it("let the owner of a package import it, and a folder what lies below it", async () => {
    const text =
      'import docker from "dockerode";\nimport { limit } from "../../protocol/limits.ts";\ndocker, limit;';
    expect(await brokenRules("sandbox/docker/docker-engine.ts", text)).toEqual([]);
    const redacting = 'import { redact } from "../secrets/redaction.ts";\nredact;';
    expect(await brokenRules("upstream/redact-connection.ts", redacting)).toEqual([]);
    const client = 'import client from "@modelcontextprotocol/client";\nclient;';
    expect(await brokenRules("upstream/mcp/x.ts", client)).toEqual([]);
  });

  it("let languages/languages.ts find languages, and each of them use its own printer", async () => {
    const finds = 'import "./typescript/bundling/bundle.ts";';
    expect(await brokenRules("languages/languages.ts", finds)).toEqual([]);
    const prints = 'import "../../codegen/typescript/print.ts";';
    expect(await brokenRules("languages/typescript/x.ts", prints)).toEqual([]);
  });

  it("let wiring/engine.ts choose an engine, and commands tell its errors", async () => {
    const chooses = 'export { engine } from "../sandbox/docker/docker-engine.ts";';
    expect(await brokenRules("wiring/engine.ts", chooses)).toEqual([]);
    expect(await brokenRules("wiring/x.ts", chooses)).toEqual(["docker-is-one-engine"]);
    const tells =
      'export { error } from "../sandbox/sandbox-error.ts";\nexport { error as other } from "../upstream/upstream-error.ts";';
    expect(await brokenRules("cli/x.ts", tells)).toEqual([]);
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
