import { describe, expect, it } from "vitest";
import { isReworded } from "../../../execution/replay/replay-program.ts";
import { buildFailure } from "../../../protocol/failure.ts";

const MISTAKE = buildFailure(
  "TypeCheckError",
  "a.ts:1:15: 'x' is not defined\n    x();\na.ts:2:1: 'y' is not defined",
);

describe("a failure that another version of ptc words otherwise", () => {
  it("is the same when the mistakes are of its type and at its places", () => {
    const other = "a.ts:1:15: there is no 'x'; import it\n    x();\na.ts:2:1: there is no 'y'\nexpected: y()";
    expect(isReworded(MISTAKE, buildFailure("TypeCheckError", other))).toBe(true);
  });

  it.each([
    ["at another place", buildFailure("TypeCheckError", MISTAKE.message.replace("2:1", "2:3"))],
    ["at one place less", buildFailure("TypeCheckError", "a.ts:1:15: 'x' is not defined\n    x();")],
    ["in another file", buildFailure("TypeCheckError", MISTAKE.message.replaceAll("a.ts", "b.ts"))],
    ["at another first place", buildFailure("TypeCheckError", MISTAKE.message.replace("1:15", "1:5"))],
    ["at one place more", buildFailure("TypeCheckError", `${MISTAKE.message}\na.ts:3:1: 'z' is not defined`)],
    ["without a place", buildFailure("TypeCheckError", "the program is too large")],
    ["of another type", buildFailure("BundleError", MISTAKE.message)],
  ])("is another one %s", (_, failure) => {
    expect(isReworded(MISTAKE, failure)).toBe(false);
  });

  it("is another one where neither names a place, and only the words differ", () => {
    const large = buildFailure("BundleError", "the program is too large");
    expect(isReworded(large, buildFailure("BundleError", "there is no module 'left-pad'"))).toBe(false);
  });

  it("is never said of a program that ran, whose message is its own", () => {
    const thrown = buildFailure("ScriptError", "Error: x\n    at a.ts:1:1");
    expect(isReworded(thrown, buildFailure("ScriptError", "Error: y\n    at a.ts:1:1"))).toBe(false);
  });
});
