import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeExtract, schemaOf } from "../../runner-image/node/functions/extract.ts";
import { hasPython, WITHOUT_PYTHON } from "../cli/terminal/run-on-terminal.ts";

/** Types, each with its schema, or with the beginning of the error where it is none. */
const TYPES = JSON.parse(readFileSync(join(import.meta.dirname, "extract-types.json"), "utf8")) as [
  unknown,
  object | string,
][];

/** The schemas of Python's own types. */
const PYTHON_TYPES = JSON.parse(readFileSync(join(import.meta.dirname, "extract-python.json"), "utf8"));

describe("a type that a program extracts", () => {
  it.each(TYPES)("%j has its schema, or is refused", (type, expected) => {
    if (typeof expected === "string") expect(() => schemaOf(type)).toThrow(expected);
    else expect(schemaOf(type)).toEqual(expected);
  });

  it("is sent with the value to the one tool of ptc", async () => {
    const calls: unknown[] = [];
    const extract = makeExtract(async (name, args) => calls.push([name, args]));
    await extract({ a: 1 }, ["string"]);
    expect(calls).toEqual([
      ["mcp__ptc__extract", { value: { a: 1 }, schema: { type: "array", items: { type: "string" } } }],
    ]);
    await expect(extract(undefined, "string")).rejects.toThrow("extract: there is no value");
    const nested = (levels: number) =>
      Array(levels)
        .fill(0)
        .reduce((inner: unknown) => [inner], "string");
    expect(() => schemaOf(nested(32))).not.toThrow();
    expect(() => schemaOf(nested(33))).toThrow("nests deeper than 32 levels");
    const endless: unknown[] = [];
    endless.push(endless);
    await expect(extract("x", endless)).rejects.toThrow("nests deeper than 32 levels");
  });

  it.skipIf(!hasPython)(`is the same in Python, which has its own types too${WITHOUT_PYTHON}`, () => {
    const { stdout, stderr } = spawnSync("python3", [join(import.meta.dirname, "python/told_types.py")], {
      input: JSON.stringify(TYPES),
      encoding: "utf8",
      env: { ...process.env, PYTHONPATH: join(import.meta.dirname, "../../runner-image/python") },
    });
    expect(stderr).toBe("");
    const told = JSON.parse(stdout);
    expect(told.table).toEqual(
      TYPES.map(([, said]) => (typeof said === "string" ? expect.stringContaining(said) : said)),
    );
    const { order, plain } = told;
    expect({ order, plain }).toEqual(PYTHON_TYPES);
    expect(told.endless).toContain("nests deeper than 32 levels, or holds itself");
    expect(told.built).toEqual(["[Line(name='x', price=0)]", null]);
    expect(told.asked).toEqual([["mcp__ptc__extract", "a text"]]);
  });
});
