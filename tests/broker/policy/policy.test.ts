import { describe, expect, it } from "vitest";
import { decide, type Policy } from "../../../broker/policy/policy.ts";

const policy: Policy = { allow: undefined, block: [], ask: [], neverAsk: [], byDefault: "annotated" };
const namespacedName = "mcp__files__delete_all";

describe("policy", () => {
  it.each<[string, Partial<Policy>, boolean, string, string | undefined]>([
    ["allows what nothing speaks against", {}, false, "allow", undefined],
    [
      "hides a blocked tool",
      { block: ["mcp__files__*"] },
      false,
      "unavailable",
      "tools.block: mcp__files__*",
    ],
    [
      "hides what an allow list leaves out",
      { allow: ["mcp__other__*"] },
      false,
      "unavailable",
      "tools.allow: no entry",
    ],
    [
      "allows what an allow list names",
      { allow: ["mcp__files__delete_all"] },
      false,
      "allow",
      "tools.allow: mcp__files__delete_all",
    ],
    [
      "allows nothing under an empty allow list",
      { allow: [] },
      false,
      "unavailable",
      "tools.allow: no entry",
    ],
    ["asks for a destructive tool", {}, true, "ask", "approvals.default: annotated"],
    [
      "asks for what ask names",
      { ask: ["mcp__*__delete_*"] },
      false,
      "ask",
      "approvals.ask: mcp__*__delete_*",
    ],
    [
      "never asks for what approvals.allow names",
      { ask: ["*"], neverAsk: ["mcp__files__*"] },
      true,
      "allow",
      "approvals.allow: mcp__files__*",
    ],
    [
      "does not let approvals.allow unblock a tool",
      { block: ["*"], neverAsk: ["*"] },
      true,
      "unavailable",
      "tools.block: *",
    ],
  ])("%s, and names the entry", (_name, change, destructive, kind, rule) => {
    const tool = { namespacedName, annotations: { destructiveHint: destructive } };
    expect(decide({ ...policy, ...change }, tool)).toEqual(rule === undefined ? { kind } : { kind, rule });
  });
});
