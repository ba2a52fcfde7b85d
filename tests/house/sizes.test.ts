import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { FOLDERS } from "../../scripts/import-rules.ts";

const root = join(import.meta.dirname, "../..");
const files = FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }));

/** What one can hold in mind. */
const MAX_FILES = 15;
const MAX_LINES = 300;

describe("what one has to hold in mind", () => {
  it("is no folder with more files beside its sub-folders than that", () => {
    const counts = new Map<string, number>();
    for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    expect(counts.size).toBeGreaterThan(40);
    expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
  });

  it("is no file with more lines than that", () => {
    const lines = files.map(
      (file) => [file, readFileSync(join(root, file), "utf8").split("\n").length] as const,
    );
    expect(lines.filter(([, count]) => count > MAX_LINES)).toEqual([]);
  });
});
