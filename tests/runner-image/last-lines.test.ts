import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serializeConsole } from "../../runner-image/node/result-value.ts";
import { hasPython, WITHOUT_PYTHON } from "../cli/terminal/run-on-terminal.ts";

/** Last lines with the JSON that they are in TypeScript and in Python, or null where they are text. */
const CASES = JSON.parse(readFileSync(join(import.meta.dirname, "last-lines.json"), "utf8")) as [
  string,
  string | null,
  string | null,
][];

describe("the last line of a program", () => {
  it.each(CASES)("%s is its value only if nothing of it changes: %s", (line, expected) => {
    const told = serializeConsole("text", line, 65_536);
    expect(told).toEqual(
      expected === null
        ? { ok: true, json: '"text"', from: "console" }
        : { ok: true, json: expected, from: "line" },
    );
  });

  it.skipIf(!hasPython)(`is its value in Python too only if nothing of it changes${WITHOUT_PYTHON}`, () => {
    const runner = join(import.meta.dirname, "../../runner-image/python");
    const { stdout, stderr } = spawnSync("python3", [join(import.meta.dirname, "python/told_lines.py")], {
      encoding: "utf8",
      input: JSON.stringify(CASES.map(([line]) => line)),
      env: { PATH: process.env.PATH, PYTHONPATH: runner, PYTHONDONTWRITEBYTECODE: "1" },
    });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual(CASES.map(([, , expected]) => expected));
  });
});
