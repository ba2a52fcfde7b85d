import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkAgainstSchema } from "../../broker/schemas/schema-check.ts";
import { checkSavedValue } from "../../runner-image/node/functions/saved-value.ts";
import { ToolError } from "../../runner-image/node/functions/tools.ts";
import { hasPython, WITHOUT_PYTHON } from "../cli/terminal/run-on-terminal.ts";

/** Schemas and values with the end of what is said of the value, or null where nothing is. */
const CASES = JSON.parse(readFileSync(join(import.meta.dirname, "saved-values.json"), "utf8")) as [
  unknown,
  unknown,
  string | null,
][];

/** What is said of a value that a saved program gives back. */
function said(schema: unknown, value: unknown): string | null {
  try {
    checkSavedValue("mcp__programs__weekly_report", schema, value);
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(ToolError);
    expect(error).toMatchObject({ server: "programs", tool: "weekly_report", retryable: false });
    return (error as Error).message.replace(/^.* does not allow: /, "");
  }
}

describe("what a saved program gives back", () => {
  it.each(CASES)("is checked by %j: %j", (schema, value, expected) => {
    expect(said(schema, value)).toBe(expected);
  });

  it.skipIf(!hasPython)(`is checked the same in Python${WITHOUT_PYTHON}`, () => {
    const runner = join(import.meta.dirname, "../../runner-image/python");
    const { stdout, stderr } = spawnSync("python3", [join(import.meta.dirname, "python/told_values.py")], {
      encoding: "utf8",
      input: JSON.stringify(CASES),
      env: { PATH: process.env.PATH, PYTHONPATH: runner, PYTHONDONTWRITEBYTECODE: "1" },
    });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual(CASES.map(([, , expected]) => expected));
  });

  it.each(CASES.filter(([, , expected]) => expected !== null))(
    "is refused only where the whole check refuses it too: %j, %j",
    (schema, value) => {
      expect(checkAgainstSchema(JSON.stringify(schema), value)).toBeDefined();
    },
  );
});
