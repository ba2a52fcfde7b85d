import { expect, test } from "vitest";
import { callingLines } from "../../protocol/calling-lines.ts";

test.for<[string, string, number[]]>([
  ["in TypeScript", "await mail.sendMessage({})", [1]],
  ["in Python", "x = 1\nawait mail.send_message(to=1)", [2]],
  ["by its whole name", "mcp__mail__send_message ({})", [1]],
  ["by several lines", "sendMessage()\nsend_message ()", [1, 2]],
  ["by no line that has its name", "const f = mail.sendMessage;\nf()", []],
  ["by none that has but a part of it", "sendMessages(); resendMessage()", []],
])("the lines that call a tool are found %s", ([, code, lines]) => {
  expect(callingLines(code.split("\n"), "mcp__mail__send_message")).toEqual(lines);
});
