import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { drawSample } from "../../scripts/mutate/sample.ts";

const folder = mkdtempSync(join(tmpdir(), "ptc-mutate-"));
afterAll(() => rmSync(folder, { recursive: true }));

const file = join(folder, "source.ts");
writeFileSync(
  file,
  Array.from(
    { length: 20 },
    (_, index) =>
      `export function f${index}(a: number) { if (a > ${index}) { return a + 1; } return a - 1; }\n`,
  ).join(""),
);

/** Begin and end of a place, as one number each: no line is longer than a thousand characters. */
function rangeOf(place: string): [number, number] {
  const numbers = /:(\d+):(\d+)-(\d+):(\d+)$/.exec(place)?.slice(1).map(Number) ?? [];
  const [line = 0, column = 0, endLine = 0, endColumn = 0] = numbers;
  return [line * 1000 + column, endLine * 1000 + endColumn];
}

describe("the sample of mutants", () => {
  it("is the same for the same seed, and another for another", async () => {
    const first = await drawSample([file], 30, 7);
    expect(await drawSample([file], 30, 7)).toEqual(first);
    expect((await drawSample([file], 30, 8)).places).not.toEqual(first.places);
  });

  it("has the same places after a change elsewhere in the file", async () => {
    const before = await drawSample([file], 30, 7);
    const source = readFileSync(file, "utf8");
    writeFileSync(file, `// A comment.\n${source}`);
    const after = await drawSample([file], 30, 7);
    writeFileSync(file, source);
    const shifted = before.places.map((place) => rangeOf(place).map((number) => number + 1_000));
    expect(after.places.map(rangeOf)).toEqual(shifted);
  });

  it("has as many mutants as are wanted, or a few more of the last place, and all where there are fewer", async () => {
    const { mutants, outOf } = await drawSample([file], 30, 1);
    expect(mutants).toBeGreaterThanOrEqual(30);
    expect(mutants).toBeLessThan(36);
    expect(outOf).toBeGreaterThan(100);
    expect((await drawSample([file], 10_000, 1)).mutants).toBeLessThan(outOf);
  });

  it("has no place within another, since a mutant of the outer one would take the inner one along", async () => {
    const { places } = await drawSample([file], 100, 3);
    const ranges = places.map(rangeOf);
    const nested = ranges.filter(([start, end], index) =>
      ranges.some((other, at) => at !== index && other[0] <= start && end <= other[1]),
    );
    expect(places.length).toBeGreaterThan(20);
    expect(nested).toEqual([]);
  });

  it("leaves out what runs only while a module loads, which no test can notice", async () => {
    const other = join(folder, "loaded.ts");
    writeFileSync(
      other,
      `const NAMES = ["a", "b"].map((name) => name + "!");
export const late = later(() => NAMES.length > 1);
class Counter { static first = 1 + 1; next = 2 + 2; #last = 3 + 3; }
`,
    );
    const { places, ranges } = await drawSample([other], 100, 1);
    const drawn = ranges.map((range) => Number(/:(\d+):/.exec(range)?.[1]));
    expect(places).toHaveLength(drawn.length);
    expect(drawn.sort()).toEqual([2, 3, 3]);
  });
});
