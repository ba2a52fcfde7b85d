import { describe, expect, it } from "vitest";
import { decide, type Policy } from "../../../broker/policy/policy.ts";
import { rowsBeside } from "../../rows.ts";

const rows = rowsBeside(import.meta.filename);

const policy: Policy = { allow: undefined, block: [], ask: [], neverAsk: [], byDefault: "annotated" };
const namespacedName = "mcp__files__delete_all";

describe("policy", () => {
  it.each<[string, Partial<Policy>, boolean, string, string | undefined]>(rows("decisions"))(
    "%s, and names the entry",
    (_name, change, destructive, kind, rule) => {
      const tool = { namespacedName, annotations: { destructiveHint: destructive } };
      expect(decide({ ...policy, ...change }, tool)).toEqual(rule === undefined ? { kind } : { kind, rule });
    },
  );

  const asks: Policy = { ...policy, asksUnlessReadOnly: "sandbox.wasm.tools: read_only" };
  it.each<[string, Partial<Policy>, Record<string, unknown> | undefined, string]>([
    ["a tool that says nothing is asked for", {}, undefined, "ask"],
    ["a tool that says that it changes something is asked for", {}, { readOnlyHint: false }, "ask"],
    ["a tool with a hint that is no boolean is asked for", {}, { readOnlyHint: "true" }, "ask"],
    ["a tool that only reads is called", {}, { readOnlyHint: true }, "allow"],
    ["a tool that is never asked for is called", { neverAsk: ["mcp__files__*"] }, undefined, "allow"],
    ["a tool that is blocked is unavailable", { block: ["mcp__files__*"] }, undefined, "unavailable"],
  ])("where all that does not only read is asked for, %s", (_name, change, annotations, kind) => {
    const tool = annotations === undefined ? { namespacedName } : { namespacedName, annotations };
    expect(decide({ ...asks, ...change }, tool as never).kind).toBe(kind);
  });
});
