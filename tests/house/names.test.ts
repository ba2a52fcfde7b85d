import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { FOLDERS } from "../../scripts/import-rules.ts";

const root = join(import.meta.dirname, "../..");
const EXPORT =
  /^export (?:declare |abstract |async )*(?:function\*?|class|const|let|interface|type|enum) +([\w$]+)/gm;

/** The names that files export and the files of each; a type and its schema share one. */
function exportedNames(files: ReadonlyMap<string, string>): Map<string, Set<string>> {
  const exported = new Map<string, Set<string>>();
  for (const [file, text] of files) {
    for (const [, name = ""] of text.matchAll(EXPORT)) {
      exported.set(name, (exported.get(name) ?? new Set()).add(file));
    }
  }
  return exported;
}

function homonyms(files: ReadonlyMap<string, string>): string[] {
  return [...exportedNames(files)]
    .filter(([, places]) => places.size > 1)
    .map(([name, places]) => `${name}: ${[...places].join(", ")}`);
}

/** File names that mean the same in each of the folders that have them. */
const SHARED_FILE_NAMES: ReadonlyMap<string, string> = new Map([
  ["generate.ts", "`ptc generate`: the command, and what it does"],
  ["image.ts", "`ptc image`: the command, and what it does"],
  ["limits.ts", "how much is taken from outside"],
  ["list.ts", "the commands `ptc list` and `ptc runs list`"],
  ["main.ts", "where a program of ours begins"],
  ["prune.ts", "`ptc runs prune`: the command, and what it does"],
  ["schema.ts", "the form of what its folder keeps or reads"],
  ["stats.ts", "`ptc runs stats`: the command, and what it counts"],
  ["verify.ts", "`ptc runs verify`: the command, and what it does"],
  ["walls.ts", "the walls of a sandbox: what they are, and the command that tells of them"],
]);

function sharedFileNames(files: readonly string[]): string[] {
  const places = new Map<string, string[]>();
  for (const file of files) places.set(basename(file), [...(places.get(basename(file)) ?? []), file]);
  return [...places]
    .filter(([, each]) => each.length > 1)
    .map(([name, each]) => `${name}: ${each.join(", ")}`);
}

describe("the names of files", () => {
  const files = FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }));

  it("mean one thing each: files of different folders share a name only where they share the idea", () => {
    expect(sharedFileNames(files.filter((file) => !SHARED_FILE_NAMES.has(basename(file))))).toEqual([]);
  });

  it("are on the list of shared ones only while they are shared", () => {
    const shared = sharedFileNames(files).map((line) => line.replace(/:.*/, ""));
    expect([...SHARED_FILE_NAMES.keys()].filter((name) => !shared.includes(name))).toEqual([]);
  });

  it("are all looked at", () => {
    expect(sharedFileNames(["a/x.ts", "b/x.ts", "b/y.ts"])).toEqual(["x.ts: a/x.ts, b/x.ts"]);
  });
});

describe("the names of the product", () => {
  it("mean one thing each: no two files export the same", () => {
    const files = FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }));
    expect(files.length).toBeGreaterThan(200);
    expect(homonyms(new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")])))).toEqual(
      [],
    );
  });

  it("are all looked at", () => {
    const files = new Map([
      ["a.ts", "export interface Run {}\nexport async function find() {}\nexport const Day = 1;\n"],
      ["b.ts", "export type Run = 1;\nexport function find() {}\nconst Day = 2;\n"],
    ]);
    expect(homonyms(files)).toEqual(["Run: a.ts, b.ts", "find: a.ts, b.ts"]);
  });
});
