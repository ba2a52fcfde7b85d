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

  const by = (tools: string[], name = "interceptors.own") => ({ by: name, tools });
  const lists = { block: [], ask: [] };
  it.each<[string, Partial<Policy>, Record<string, unknown> | undefined, string | undefined]>([
    ["what is destructive, by a pattern", { reviewer: by(["mcp__*"]) }, { destructiveHint: true }, undefined],
    ["what says nothing of it, by a pattern", { reviewer: by(["mcp__*"]) }, undefined, undefined],
    [
      "what a hint that is no boolean is about",
      { reviewer: by(["mcp__*"]) },
      { destructiveHint: "no" },
      undefined,
    ],
    [
      "what destroys nothing, by a pattern",
      { reviewer: by(["mcp__*"]) },
      { destructiveHint: false },
      "interceptors.own",
    ],
    [
      "what is destructive, by its name",
      { reviewer: by([namespacedName]) },
      { destructiveHint: true },
      "interceptors.own",
    ],
    ["what it does not name", { reviewer: by(["mcp__mail__*"]) }, { readOnlyHint: true }, undefined],
    [
      "what managed settings ask about",
      { reviewer: by([namespacedName]), managed: [{ ...lists, ask: ["mcp__files__*"] }] },
      undefined,
      undefined,
    ],
    [
      "what managed settings exempt nobody from",
      { reviewer: by([namespacedName]), managed: [{ ...lists, neverAsk: [] }] },
      undefined,
      undefined,
    ],
    [
      "what managed settings let it",
      { reviewer: by([namespacedName]), managed: [{ ...lists, neverAsk: ["mcp__files__*"] }] },
      undefined,
      "interceptors.own",
    ],
    [
      "nothing, where the reviewer of managed settings answers what they ask",
      {
        reviewer: by([namespacedName]),
        managed: [{ ...lists, ask: ["*"], reviewer: by([namespacedName], "managed interceptors.theirs") }],
      },
      undefined,
      "managed interceptors.theirs",
    ],
    [
      "what other managed settings ask about",
      {
        managed: [
          { ...lists, reviewer: by([namespacedName], "managed interceptors.theirs") },
          { ...lists, ask: ["*"] },
        ],
      },
      undefined,
      undefined,
    ],
  ])("says which check may answer in the place of a person: of %s", (_, change, annotations, reviewer) => {
    const tool = annotations === undefined ? { namespacedName } : { namespacedName, annotations };
    const decided = decide({ ...policy, ask: [namespacedName], ...change }, tool as never);
    expect([decided.kind, decided.reviewer]).toEqual(["ask", reviewer]);
  });
});
