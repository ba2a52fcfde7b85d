import { describe, expect, it } from "vitest";
import { isDestructive } from "../../../broker/policy/policy.ts";

describe("a tool counts as destructive", () => {
  it.each<[unknown, { annotated: boolean; destructive: boolean }]>([
    [undefined, { annotated: false, destructive: true }],
    [{}, { annotated: false, destructive: true }],
    [{ readOnlyHint: false }, { annotated: false, destructive: true }],
    [{ readOnlyHint: true }, { annotated: false, destructive: false }],
    [{ destructiveHint: false }, { annotated: false, destructive: false }],
    [{ destructiveHint: true }, { annotated: true, destructive: true }],
    [
      { destructiveHint: true, readOnlyHint: true },
      { annotated: true, destructive: true },
    ],
    [{ destructiveHint: "true" }, { annotated: true, destructive: true }],
    [{ destructiveHint: 1 }, { annotated: true, destructive: true }],
    [{ destructiveHint: null }, { annotated: true, destructive: true }],
    [
      { destructiveHint: false, readOnlyHint: "yes" },
      { annotated: true, destructive: true },
    ],
    [JSON.parse('{"__proto__": {"destructiveHint": false}}'), { annotated: false, destructive: true }],
  ])("with %j", (annotations, expected) => {
    const counts = (byDefault: "annotated" | "destructive") =>
      isDestructive(annotations as Record<string, unknown> | undefined, byDefault);
    expect({ annotated: counts("annotated"), destructive: counts("destructive") }).toEqual(expected);
  });
});
