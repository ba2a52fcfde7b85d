import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseConfiguration } from "../../configuration/parse.ts";
import { knownKeys } from "../../configuration/settings/settings.ts";
import { madePages } from "../../scripts/docs/made-pages.ts";
import { readThreats } from "../../scripts/docs/print-threats.ts";
import { FOLDERS, forbidden } from "../../scripts/import-rules.ts";
import { releaseProblems } from "../../scripts/release-problems.ts";

/** Folders that are not in the repository. */
const GENERATED = new Set(["dist/"]);

/** Names that stand for a user's files, or for generated ones. */
const EXAMPLES = new Set(["index.ts", "program.ts", "report.ts", "runtime.d.ts", "globals.d.ts"]);

const MAX_README_LINES = 150;
const MAX_README_WORDS = 1_300;
/** Of a page for one kind of reader. */
const MAX_READER_WORDS = 600;

/** Tests that run nowhere, whatever the machine has. */
const NEVER_RUN = /\b(?:it|test|describe)(?:\.\w+)*\.(?:skip|todo|fails)\(/g;

/** Sections of the register's page that have no attacker. */
const NO_ATTACKERS = new Set(["threats", "what-following-values-promises"]);

const root = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const PAGES = globSync("docs/*.md", { cwd: root }).sort();
const FOLDERS_OWN = globSync("{*,cli/*}/README.md", {
  cwd: root,
  exclude: ["node_modules", "plugin"],
}).sort();
const DOCUMENTS = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...FOLDERS_OWN,
  ...PAGES,
];

const wordsOf = (file: string) =>
  read(file)
    .split(/\s+/)
    .filter((word) => word !== "").length;

function links(file: string): string[] {
  return [...read(file).matchAll(/\]\(([^)#\s]+)\)/g)]
    .map((match) => match[1] as string)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** What the tests and the groups of tests of a file are called. */
function testNames(text: string): Set<string> {
  const calls = /^\s*(?:it|test|describe\w*)\b[^"`\n]*(?:\n\s*)?["`]([^"`\n]+)["`]/gm;
  // What a test is called that has cases, or that is skipped somewhere, follows a parenthesis.
  const furtherCalls = /\)\((?:\n\s*)?["`]([^"`\n]+)["`]/g;
  return new Set(
    [calls, furtherCalls].flatMap((each) => [...text.matchAll(each)].map(([, name = ""]) => name)),
  );
}

/** How GitHub names the sections of a page. */
function anchorsOf(page: string): Set<string> {
  const titles = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => title);
  return new Set(
    titles.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** The pieces of code of a page: blocks, and what stands in a sentence. */
function codeOf(page: string): string[] {
  const blocks = [...page.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code);
  const sentences = page.replaceAll(/^```\w*\n[\s\S]*?^```/gm, "");
  const pieces = [...blocks, ...[...sentences.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code)];
  return pieces.map((code) => code.replaceAll(/(?<=^|\s)#\s.*/gm, ""));
}

/** What is wrong with a piece of ptc.yaml: the whole of one, or keys of a server, one after the other. */
function problemsOf(block: string): string[] {
  const problem = problemOf(block);
  if (problem === undefined) return [];
  const keys = Object.entries((parse(block) ?? {}) as Record<string, unknown>);
  const known = keys.every(([key]) => knownKeys(["servers", 0]).includes(key));
  if (!known) return [problem];
  return keys.flatMap(([key, value]) => {
    const reached = /^(?:headers|auth|url)$/.test(key) ? { url: "http://127.0.0.1" } : { command: "x" };
    return problemOf(JSON.stringify({ servers: [{ name: "x", ...reached, [key]: value }] })) ?? [];
  });
}

function problemOf(text: string): string | undefined {
  try {
    parseConfiguration(text, { file: "ptc.yaml", directory: root, environment: {} });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe("the documents", () => {
  it.each(DOCUMENTS)("%s links to files that exist", (file) => {
    const broken = links(file).filter((target) => !existsSync(join(root, dirname(file), target)));
    expect(broken).toEqual([]);
  });

  it("name in README.md every page, in few lines", () => {
    expect(PAGES.length).toBeGreaterThan(8);
    expect(links("README.md")).toEqual(expect.arrayContaining(PAGES));
    expect(read("README.md").split("\n").length).toBeLessThanOrEqual(MAX_README_LINES);
    expect(wordsOf("README.md")).toBeLessThan(MAX_README_WORDS);
  });

  it("have a page for each kind of reader that is short, says what it was tried on, and is on README's first screen", () => {
    const pages = PAGES.filter((page) => /^docs\/(?:start|for-.*)\.md$/.test(page));
    expect(pages).toHaveLength(5);
    const screen = read("README.md").split("\n## ")[0];
    for (const page of pages) {
      expect([page, wordsOf(page) < MAX_READER_WORDS]).toEqual([page, true]);
      expect(read(page)).toContain("**Tried on**");
      expect(screen).toContain(`](${page})`);
    }
  });

  it("name one version", () => {
    expect(releaseProblems()).toEqual([]);
  });

  it("link to sections that there are", () => {
    const broken = DOCUMENTS.flatMap((file) =>
      [...read(file).matchAll(/\]\(([^):\s]*)#([^)\s]+)\)/g)]
        .map(([, path = "", anchor = ""]) => ({
          path: path === "" ? file : join(dirname(file), path),
          anchor,
        }))
        .filter(({ path, anchor }) => !anchorsOf(read(path)).has(anchor))
        .map(({ path, anchor }) => `${file}: ${path}#${anchor}`),
    );
    expect(broken).toEqual([]);
  });

  it("are made from the code, where they say so", async () => {
    for (const [path, text] of await madePages())
      expect(read(path), `${path}: node scripts/docs.ts`).toBe(text);
  });

  it("name commands and flags that there are", () => {
    const help = read("docs/commands.md");
    const pages = DOCUMENTS.filter((file) => file !== "docs/commands.md");
    const named = pages.flatMap((file) => codeOf(read(file)).map((code) => ({ file, code })));
    const unknown = named.flatMap(({ file, code }) =>
      [...code.matchAll(/(?<![\w-])ptc ([a-z]+)\b(?!:)/g)]
        .filter(([, name = ""]) => !help.includes(`\n## ptc ${name}\n`))
        .map(([text]) => `${file}: ${text}`),
    );
    const flags = named.flatMap(({ file, code }) =>
      [...code.matchAll(/(?<![\w-])ptc [a-z][^|\n#]*?\s(--[a-z][\w-]*)/g)]
        .filter(([, flag = ""]) => !new RegExp(`(?<![\\w-])${flag}(?![\\w-])`).test(help))
        .map(([text]) => `${file}: ${text}`),
    );
    expect(named.length).toBeGreaterThan(100);
    expect([...unknown, ...flags]).toEqual([]);
  });

  it("name settings that there are", () => {
    const problems = DOCUMENTS.flatMap((file) =>
      [...read(file).matchAll(/```yaml\n(?!# \/etc\/ptc\/managed\.yaml\n)([\s\S]*?)```/g)].flatMap(
        ([, block = ""]) => problemsOf(block).map((problem) => `${file}: ${problem}`),
      ),
    );
    expect(problems).toEqual([]);
  });

  it("walk in ARCHITECTURE.md along a call and a run, in at most ten steps that link to files", () => {
    const walks = read("ARCHITECTURE.md")
      .split(/^## /m)
      .filter((section) => /^A (?:call|run) travels one way/.test(section));
    expect(walks).toHaveLength(2);
    for (const walk of walks) {
      const steps = walk.split(/^\d+\. /m).slice(1);
      expect(steps.length).toBeGreaterThan(4);
      expect(steps.length).toBeLessThanOrEqual(10);
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
    const unknown = [...read(file).matchAll(/\[([^\]]+)\]\((?:\.\.\/)?(tests\/[^)#\s]+\.test\.ts)\)/g)]
      .map(([, name = "", path = ""]) => ({ name, path }))
      .filter(({ name, path }) => name !== path && !testNames(read(path)).has(name));
    expect(unknown).toEqual([]);
  });

  it("have tests for each threat of the register, by names that they have, and that are not skipped everywhere", () => {
    const threats = readThreats().flatMap((section) => section.threats);
    const unknown = threats.flatMap(({ attack, tests }) =>
      Object.entries(tests).flatMap(([file, names]) => {
        if (!existsSync(join(root, file))) return [`${attack}: ${file}`];
        const run = testNames(read(file).replaceAll(NEVER_RUN, "never("));
        return names.filter((name) => !run.has(name)).map((name) => `${attack}: ${file}: ${name}`);
      }),
    );
    expect(threats.length).toBeGreaterThan(130);
    expect(unknown).toEqual([]);
  });

  it("tell in SECURITY.md of every attacker of the register", () => {
    const sections = [...read("SECURITY.md").matchAll(/\(docs\/threats\.md#([^)]+)\)/g)].map(
      ([, anchor]) => anchor,
    );
    const attackers = [...anchorsOf(read("docs/threats.md"))].filter((anchor) => !NO_ATTACKERS.has(anchor));
    expect(attackers.filter((anchor) => !sections.includes(anchor))).toEqual([]);
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
