import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { FOLDERS, forbidden } from "../../scripts/import-rules.ts";

/** Folders that are not in the repository. */
const GENERATED = new Set(["dist/"]);

/** Names that stand for a user's files, or for generated ones. */
const EXAMPLES = new Set(["index.ts", "program.ts", "report.ts", "runtime.d.ts", "globals.d.ts"]);

const DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];

const root = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

function links(file: string): string[] {
  return [...read(file).matchAll(/\]\(([^)#\s]+)\)/g)]
    .map((match) => match[1] as string)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** What the tests and the groups of tests of a file are called. */
function testNames(text: string): Set<string> {
  const calls = /^\s*(?:it|test|describe\w*)\b[^"`\n]*(?:\n\s*)?["`]([^"`\n]+)["`]/gm;
  return new Set([...text.matchAll(calls)].map(([, name = ""]) => name));
}

describe("the documents", () => {
  it.each(DOCUMENTS)("%s links to files that exist", (file) => {
    const broken = links(file).filter((target) => !existsSync(join(root, dirname(file), target)));
    expect(links(file).length).toBeGreaterThan(0);
    expect(broken).toEqual([]);
  });

  it("open ARCHITECTURE.md with two walks of numbered steps that link to files", () => {
    const walks = read("ARCHITECTURE.md").split(/^## /m).slice(1, 3);
    for (const walk of walks) {
      const steps = walk.split(/^\d+\. /m).slice(1);
      expect(steps.length).toBeGreaterThan(4);
      for (const step of steps) expect(step).toMatch(/\]\([a-z][\w./-]+\.ts\)/);
    }
  });

  it("tell of every folder that has import rules", () => {
    const folders = forbidden.map(({ name }) => name ?? "").filter((name) => name.endsWith("-imports"));
    for (const name of folders)
      expect(read("ARCHITECTURE.md")).toContain(`\`${name.replace("-imports", "")}/\``);
  });

  it("name in CONTRIBUTING.md files and folders that exist", () => {
    const named = [...read("CONTRIBUTING.md").matchAll(/`((?:[\w.-]+\/)+[\w.-]*)`/g)].map(
      ([, path = ""]) => path,
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !GENERATED.has(path) && !existsSync(join(root, path)))).toEqual([]);
  });

  it("show in README.md the program that is in examples/words.ts", () => {
    const code = (text: string) => text.replaceAll(/\s+/g, "").replaceAll(",)", ")");
    const [, shown = ""] =
      /## What a program looks like\n\n```ts\n([\s\S]*?)```/.exec(read("README.md")) ?? [];
    const [, rest = ""] = /\*\/\n([\s\S]*)$/.exec(read("examples/words.ts")) ?? [];
    expect(code(shown)).toBe(code(rest));
  });

  it.each(DOCUMENTS)("call the tests that %s links to by names that they have", (file) => {
    const unknown = [...read(file).matchAll(/\[([^\]]+)\]\((tests\/[^)#\s]+\.test\.ts)\)/g)]
      .map(([, name = "", path = ""]) => ({ name, path }))
      .filter(({ name, path }) => name !== path && !testNames(read(path)).has(name));
    expect(unknown).toEqual([]);
  });

  it("have a test for each claim of SECURITY.md about what an attacker cannot do", () => {
    const claims = read("SECURITY.md")
      .split("\n")
      .filter((line) => /^\| (?!it cannot|they cannot|---)/.test(line));
    expect(claims.length).toBeGreaterThan(30);
    expect(claims.filter((claim) => !/\]\(tests\/[^)]+\.test\.ts\)[^|]* \|$/.test(claim))).toEqual([]);
  });

  it("and comments name no source file that is not there", () => {
    const files = globSync(`{${[...FOLDERS, "tests", "bench", "scripts"].join(",")}}/**/*.{ts,mjs,pl,sh}`, {
      cwd: root,
    });
    const isThere = (named: string) => files.some((file) => `/${file}`.endsWith(`/${named}`));
    const stale = files
      .filter((file) => file.endsWith(".ts") && !file.startsWith("tests/golden/"))
      .flatMap((file) =>
        [...read(file).matchAll(/^\s*(?:\/\*\*|\*|\/\/) .*$/gm)].flatMap(([comment]) =>
          [...comment.matchAll(/(?<![\w/.-])((?:[\w-]+\/)*[a-z][\w-]+\.ts)\b/g)]
            .map(([, named = ""]) => named)
            .filter((named) => !EXAMPLES.has(basename(named)) && !isThere(named))
            .map((named) => `${file}: ${named}`),
        ),
      );
    expect(files.length).toBeGreaterThan(400);
    expect(stale).toEqual([]);
  });
});
