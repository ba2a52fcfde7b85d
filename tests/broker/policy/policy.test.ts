import { describe, expect, it } from "vitest";
import { decide, type Policy } from "../../../broker/policy/policy.ts";

const policy: Policy = { allow: undefined, block: [], ask: [], neverAsk: [], byDefault: "annotated" };
const namespacedName = "mcp__files__delete_all";

describe("policy", () => {
  it.each<[string, Partial<Policy>, boolean, string]>([
    ["allows what nothing speaks against", {}, false, "allow"],
    ["hides a blocked tool", { block: ["mcp__files__*"] }, false, "unavailable"],
    ["hides what an allow list leaves out", { allow: ["mcp__other__*"] }, false, "unavailable"],
    ["allows what an allow list names", { allow: ["mcp__files__delete_all"] }, false, "allow"],
    ["allows nothing under an empty allow list", { allow: [] }, false, "unavailable"],
    ["asks for a destructive tool", {}, true, "ask"],
    ["asks for what ask names", { ask: ["mcp__*__delete_*"] }, false, "ask"],
    ["never asks for what approvals.allow names", { ask: ["*"], neverAsk: ["mcp__files__*"] }, true, "allow"],
    ["does not let approvals.allow unblock a tool", { block: ["*"], neverAsk: ["*"] }, true, "unavailable"],
  ])("%s", (_name, change, destructive, decision) => {
    const tool = { namespacedName, annotations: { destructiveHint: destructive } };
    expect(decide({ ...policy, ...change }, tool)).toBe(decision);
  });
});
