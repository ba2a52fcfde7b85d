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
});
