import { expect, it } from "vitest";
import { describeProblem, type SchemaProblem } from "../../../broker/schemas/schema-problem.ts";

it.each<[SchemaProblem, string]>([
  [{ place: ".limit", message: "must be number, not true" }, "arguments.limit must be number, not true"],
  [{ place: "[0].a", message: "is missing" }, "arguments[0].a is missing"],
  [{ place: "", message: "must be object, not 1" }, "arguments must be object, not 1"],
  [{ place: ".a\nb", message: "is \u202e odd" }, "arguments.a\\u{a}b is \\u{202e} odd"],
  [{ unchecked: "it is too large" }, "arguments could not be checked: it is too large"],
])("%j is told with what the value is called", (problem, text) => {
  expect(describeProblem("arguments", problem)).toBe(text);
});

it.each(["x", "\n"])("a problem of many characters %j is cut", (character) => {
  const text = describeProblem("", { place: ".a", message: character.repeat(5_000) });
  expect(text).toHaveLength(1_003);
  expect(text).toMatch(/^\.a .*\.\.\.$/);
});
