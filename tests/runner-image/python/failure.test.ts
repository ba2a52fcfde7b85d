import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { MAX_ERROR_MESSAGE_CHARS } from "../../../protocol/limits.ts";
import { hasPython, WITHOUT_PYTHON } from "../../cli/terminal/run-on-terminal.ts";

const RUNNER = join(import.meta.dirname, "../../../runner-image/python");
const SHOWN = `
import json, sys
from ptc_runner.failure import make_failure
print(json.dumps([make_failure("ScriptError", message)["message"] for message in json.load(sys.stdin)]))
`;

/** What becomes of messages in the runner. */
function shown(messages: readonly string[]): string[] {
  const { stdout, stderr } = spawnSync("python3", ["-c", SHOWN], {
    encoding: "utf8",
    input: JSON.stringify(messages),
    env: { PATH: process.env.PATH, PYTHONPATH: RUNNER, PYTHONDONTWRITEBYTECODE: "1" },
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

const MARK = "... (truncated)";
const HEAD = "Traceback:\n".padEnd(MAX_ERROR_MESSAGE_CHARS - 1_500 - MARK.length - 2, "first lines\n");
/** Lines that are left out. */
const MIDDLE = "of a\nmiddle\n".repeat(200);

it.skipIf(!hasPython)(
  `a message of a program in Python keeps both ends, of whole lines${WITHOUT_PYTHON}`,
  () => {
    const whole = `${"l".repeat(999)}\n${"m".repeat(500)}`;
    const cases: [message: string, shown: string][] = [
      ["m".repeat(MAX_ERROR_MESSAGE_CHARS), "m".repeat(MAX_ERROR_MESSAGE_CHARS)],
      [`${HEAD}${MIDDLE}\n${whole}`, `${HEAD}\n${MARK}\n${whole}`],
      [
        `${HEAD}${MIDDLE}an end of a secret\n${"l".repeat(1_495)}\nlast`,
        `${HEAD}\n${MARK}\n${"l".repeat(1_495)}\nlast`,
      ],
      [`${HEAD}${MIDDLE}a secret${whole}`, `${HEAD}\n${MARK}\n${"m".repeat(500)}`],
      [`${HEAD}${MIDDLE}Error: ${"m".repeat(9_000)}`, `${HEAD}\n${MARK}\nError: ${"m".repeat(1_478)}${MARK}`],
      [
        `${HEAD}${MIDDLE}Error: ${"m".repeat(9_000)}\n`,
        `${HEAD}\n${MARK}\nError: ${"m".repeat(1_478)}${MARK}`,
      ],
      [
        `Error: ${"m".repeat(9_000)}`,
        `Error: ${"m".repeat(MAX_ERROR_MESSAGE_CHARS - 7 - MARK.length)}${MARK}`,
      ],
    ];
    const messages = shown(cases.map(([message]) => message));
    expect(messages).toEqual(cases.map(([, expected]) => expected));
    for (const message of messages) expect(message.length).toBeLessThanOrEqual(MAX_ERROR_MESSAGE_CHARS);
  },
);
