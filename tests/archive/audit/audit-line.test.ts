import { expect, test } from "vitest";
import { renderAuditLine } from "../../../archive/audit/audit-line.ts";

test("members without a value are left out", () => {
  expect(renderAuditLine({ a: 1, b: undefined, c: "x" })).toBe('{"a":1,"c":"x"}\n');
});
