import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { cruise, type ICruiseResult } from "dependency-cruiser";
import { afterAll, describe, expect, it } from "vitest";
import { forbidden, options } from "../../scripts/import-rules.ts";

const root = mkdtempSync(join(tmpdir(), "ptc-house-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Applies the rules to one file of the given text, in a tree of its own with something to import. */
async function brokenRules(file: string, text: string): Promise<string[]> {
  const tree = mkdtempSync(join(root, "tree-"));
  const files: Record<string, string> = {
    "broker/session.ts": "export const session = 1;",
    "protocol/limits.ts": "export const limit = 1;",
    "cli/main.ts": "export const main = 1;",
    "tests/fake.ts": "export const fake = 1;",
    "node_modules/dockerode/package.json": '{"name":"dockerode","version":"1.0.0","main":"index.js"}',
    "node_modules/dockerode/index.js": "module.exports = 1;",
    "package.json": '{"name":"tree","type":"module","dependencies":{"dockerode":"*"}}',
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
  it.each([
    [
      "a folder above",
      "protocol/x.ts",
      'import { session } from "../broker/session.ts";\nsession;',
      "protocol-imports",
    ],
    [
      "a folder above, as a type",
      "sandbox/x.ts",
      'import type { session } from "../broker/session.ts";\nexport type X = typeof session;',
      "sandbox-imports",
    ],
    [
      "a folder above, lazily",
      "catalog/x.ts",
      'export const x = () => import("../cli/main.ts");',
      "catalog-imports",
    ],
    [
      "anything but protocol into the image",
      "runner-image/x.ts",
      'export * from "../broker/session.ts";',
      "runner-image-imports",
    ],
    ["tests", "cli/x.ts", 'import { fake } from "../tests/fake.ts";\nfake;', "cli-imports"],
    [
      "a package that another file owns",
      "broker/x.ts",
      'import docker from "dockerode";\ndocker;',
      "one-importer-of-dockerode",
    ],
    [
      "the file system into codegen",
      "codegen/x.ts",
      'import { readFileSync } from "node:fs";\nreadFileSync;',
      "codegen-is-pure",
    ],
    ["itself in a circle", "broker/x.ts", 'import { x } from "./x.ts";\nexport const y = x;', "no-cycles"],
    ["what is not there", "broker/x.ts", 'import "./nowhere.ts";', "resolvable"],
  ])("refuse to import %s", async (_name, file, text, rule) => {
    expect(await brokenRules(file, text)).toContain(rule);
  });

  it("let the owner of a package import it, and a folder what lies below it", async () => {
    const text =
      'import docker from "dockerode";\nimport { limit } from "../protocol/limits.ts";\ndocker, limit;';
    expect(await brokenRules("sandbox/docker-engine.ts", text)).toEqual([]);
  });
});
