import { readFileSync } from "node:fs";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import type { Tool } from "../../../catalog/tool.ts";
import { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import { chooseDirectTools, describeDirect, directNames, tokensOf } from "../../../tools/direct-tools.ts";
import { parse } from "../../configuration/parse-text.ts";

const OBJECT = { type: "object" };

function tool(name: string, more: Partial<Tool> = {}, module = "desk"): Tool {
  return {
    namespacedName: `mcp__${module}__${name}`,
    server: module,
    module,
    name,
    identifier: name,
    inputSchema: OBJECT,
    definitionDigest: "sha256:0",
    ...more,
  };
}

function catalogOf(...tools: Tool[]): ToolCatalog {
  const modules = [...new Set(tools.map(({ module }) => module))];
  return new ToolCatalog(
    modules.map((module) => ({
      name: module,
      module,
      description: undefined,
      implementation: { name: module, version: "1" },
      tools: tools.filter((each) => each.module === module),
    })),
  );
}

const namesOf = ({ tools }: ReturnType<typeof chooseDirectTools>) =>
  tools.map(({ definition }) => definition.name);
const CHOICE = parse("");
const LONG = "x".repeat(9_000);

describe("the tools that are listed directly", () => {
  const small = catalogOf(tool("a"), tool("b"), tool("c", {}, "shelf"));
  const large = catalogOf(
    tool("a"),
    tool("b", { description: LONG }),
    tool("c", { description: LONG }, "shelf"),
  );

  it.each([
    [small, "auto", [], ["mcp__desk__a", "mcp__desk__b", "mcp__shelf__c"]],
    [large, "auto", [], []],
    [large, "auto", ["mcp__desk__*"], ["mcp__desk__a", "mcp__desk__b"]],
    [small, "search", [], []],
    [small, "search", ["mcp__shelf__c"], ["mcp__shelf__c"]],
    [large, "direct", [], ["mcp__desk__a", "mcp__desk__b", "mcp__shelf__c"]],
  ] as const)("are chosen by what they cost, and by name: %#", (view, discovery, direct, names) => {
    const chosen = chooseDirectTools(view, { ...CHOICE, discovery, direct });
    expect(namesOf(chosen)).toEqual(names);
    // A tool that is named is loaded, also where a client looks for tools first.
    for (const { definition } of chosen.tools)
      expect(definition._meta).toEqual(direct.length > 0 ? { "anthropic/alwaysLoad": true } : undefined);
  });

  it.each([
    "servers: [{ name: desk, command: x, accepts: [] }]",
    "servers: [{ name: desk, command: x, tools: { a: { accepts: [public] } } }]",
  ])("are none by themselves where calls are decided by what each call has read: %s", (text) => {
    expect(namesOf(chooseDirectTools(small, parse(text)))).toHaveLength(3);
    const chosen = chooseDirectTools(small, parse(`${text}\ndirect: { runs: call }`));
    expect(namesOf(chosen)).toEqual([]);
    expect(describeDirect(chosen, CHOICE)).toContain(
      "because labels or rules go by what a run has read before",
    );
    expect(
      namesOf(chooseDirectTools(small, parse(`${text}\ndirect: { tools: [desk.a], runs: call }`))),
    ).toEqual(["mcp__desk__a"]);
    const files = [{ file: "p", path: "/p", text: "forbid(principal, action, resource)" }];
    const rules = (more: string) => ({
      groups: {},
      files: files.map((each) => ({ ...each, text: each.text + more })),
    });
    const asked = [";", 'when { context.run.labels.contains("x") };'].map((more) => rules(more));
    const counts = asked.map(
      (policy) => chooseDirectTools(small, { ...CHOICE, directRuns: "call", policy }).tools.length,
    );
    expect(counts).toEqual([3, 0]);
  });

  it("are neither methods, nor saved programs, nor the model", () => {
    const view = catalogOf(
      tool("resources/read", { method: "resources/read" }),
      tool("report", {}, "programs"),
      tool("extract", {}, "ptc"),
      tool("a"),
    );
    expect(namesOf(chooseDirectTools(view, { ...CHOICE, discovery: "direct" }))).toEqual(["mcp__desk__a"]);
  });

  it.each([
    ["text", "is of no object"],
    [{ type: "array" }, "is of no object"],
    [
      { type: "object", properties: { a: { type: "wrong" } } },
      "is no JSON Schema: properties.a.type must be one of",
    ],
    [{ type: "object", anyOf: [OBJECT] }, "has anyOf at its top"],
    [{ type: "object", properties: { "no such name": {} } }, "has an argument whose name models do not take"],
    [{ type: "object", properties: { a: { $ref: "#/$defs/b" } } }, "refers to a schema that is not in it"],
    [
      { type: "object", properties: { a: { $ref: "https://schemas.example/a" } } },
      "refers to a schema that is not in it",
    ],
    [{ type: "object", properties: { default: { $id: "x" } } }, "refers to a schema by $id"],
  ])("leave out one that clients or models would not take, and say why: %#", (inputSchema, why) => {
    const chosen = chooseDirectTools(catalogOf(tool("odd", { inputSchema }), tool("a")), CHOICE);
    expect(namesOf(chosen)).toEqual(["mcp__desk__a"]);
    expect(describeDirect(chosen, { discovery: "auto" })).toContain(
      `for programs alone: mcp__desk__odd (its inputSchema ${why}`,
    );
  });

  it("have schemas and hints as clients read them, with nothing hidden in texts", () => {
    const inputSchema = {
      $id: "https://schemas.example/own",
      properties: {
        description: { type: "string", description: "one\u202etwo", default: "\u202e" },
        b: { $ref: "#/$defs/b" },
      },
      $defs: { b: true },
    };
    const annotations = { title: "T", destructiveHint: "unreadable", openWorldHint: 1, custom: {} };
    const outputSchema = { type: "object", properties: { a: { pattern: "(" } } };
    const given = tool("a", { inputSchema, annotations, outputSchema, description: "Does\u200b it" });
    const descriptions = [tool("a", { description: "" }), tool("a", { title: "The a" })].map(
      (each) => chooseDirectTools(catalogOf(each), CHOICE).tools[0]?.definition.description,
    );
    expect(descriptions).toEqual(["Its server does not say what it does.", "The a"]);
    const [only] = chooseDirectTools(catalogOf(given), CHOICE).tools;
    expect(only?.definition).toEqual({
      name: "mcp__desk__a",
      description: "Does\\u{200b} it",
      inputSchema: {
        type: "object",
        properties: {
          description: { type: "string", description: "one\\u{202e}two", default: "\u202e" },
          b: { $ref: "#/$defs/b" },
        },
        $defs: { b: true },
      },
      annotations: { title: "T", readOnlyHint: false, destructiveHint: true },
    });
  });

  it("have icons and `_meta`, and what ptc has learned of results, where clients are given all that servers offer", () => {
    const _meta = { ui: { resourceUri: "ui://chart" }, tags: ["a"] };
    const icons = [{ src: "https://desk.example/i.png" }];
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const view = catalogOf(
      tool("a", { _meta, icons, learned: { calls: 2, schema } }),
      tool("b", { learned: { calls: 1, schema: { type: "array", items: schema } } }),
      tool("c", { learned: { calls: 1, schema: { type: "string" } } }),
      tool("d", { _meta: { ui: { visibility: ["app"] } }, outputSchema: schema }),
    );
    const chosen = (discovery: "auto" | "direct", text = "") =>
      chooseDirectTools(view, { ...parse(text), discovery }).tools;
    const off = "servers: [{ name: desk, command: x, apps: off }]";
    const [a, b, c, d] = chosen("direct", "servers: [{ name: desk, command: x }]");
    const description =
      "Learned by ptc from 2 results. The tool's server promises nothing, and a result may differ.";
    expect(a?.definition).toMatchObject({
      icons,
      _meta: { ui: { resourceUri: "ui://desk/chart" }, tags: ["a"], "ptc/learned": { calls: 2 } },
      outputSchema: { type: "object", description, anyOf: [schema, {}] },
    });
    expect(b?.definition.outputSchema?.anyOf).toEqual([
      { type: "object", properties: { result: { type: "array", items: schema } } },
      {},
    ]);
    expect(c?.definition.outputSchema).toBeUndefined();
    expect(d).toMatchObject({ definition: { outputSchema: schema } });
    expect([a, b, c, d].map((each) => each?.isLearned)).toEqual([true, true, undefined, undefined]);
    // Without apps, no tool is left that only an app could call.
    expect(chosen("direct", off).map(({ tool: { name } }) => name)).toEqual(["a", "b", "c"]);
    expect(chosen("direct", off)[0]?.definition._meta).toEqual({ tags: ["a"], "ptc/learned": { calls: 2 } });
    // A client that cannot read resources gets no address of one, and no type that nothing else is made for.
    expect(chosen("auto").map(({ definition }) => definition._meta)).toEqual([
      { tags: ["a"] },
      undefined,
      undefined,
      undefined,
    ]);
    expect(chosen("auto")[0]?.definition.outputSchema).toBeUndefined();
  });

  it("say what they cost, within a tenth of what a tokenizer counts", () => {
    const { servers } = JSON.parse(readFileSync("generated/catalog.json", "utf8"));
    for (const { name, tools } of servers) {
      const all = tools
        .filter((each: { method?: string }) => each.method === undefined)
        .map((each: Tool) => tool(each.name, each, name));
      const estimated = all.reduce((sum: number, each: Tool) => sum + tokensOf(each), 0);
      const counted = all.reduce(
        (sum: number, { namespacedName, description, inputSchema }: Tool) =>
          sum + countTokens(JSON.stringify({ name: namespacedName, description, input_schema: inputSchema })),
        0,
      );
      expect(Math.abs(estimated / counted - 1)).toBeLessThan(0.1);
    }
  });
});

describe("their names", () => {
  it("are the namespaced ones where models take them, and else of at most 64 characters and distinct", () => {
    const long = (end: string) => `mcp__desk__${"a".repeat(80)}${end}`;
    const names = directNames([
      "mcp__desk__a",
      "mcp__desk__a.b",
      "mcp__desk__a_b",
      "mcp__desk__a/b",
      long("1"),
      long("2"),
    ]);
    expect(names.get("mcp__desk__a")).toBe("mcp__desk__a");
    expect(names.get("mcp__desk__a_b")).toBe("mcp__desk__a_b");
    expect(names.get("mcp__desk__a.b")).toMatch(/^mcp__desk__a_b_[0-9a-f]{8}$/);
    expect(new Set(names.values()).size).toBe(6);
    for (const name of names.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    // A name depends on its tool alone.
    expect(directNames([long("2")]).get(long("2"))).toBe(names.get(long("2")));
  });

  it("are not taken by another tool that is named like them", () => {
    const taken = directNames(["mcp__desk__a.b"]).get("mcp__desk__a.b") ?? "";
    const both = directNames([taken, "mcp__desk__a.b"]);
    expect(both.get(taken)).toBe(taken);
    expect(both.get("mcp__desk__a.b")).not.toBe(taken);
  });
});
