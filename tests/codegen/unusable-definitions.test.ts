import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJson, writeJson } from "../../base/json.ts";
import { definitionDigest, parseTool } from "../../catalog/parse-tool.ts";
import { printCompactSignature, printToolSignature } from "../../codegen/typescript/signature.ts";
import { planGeneration } from "../../generation/generate-plan.ts";
import { canonicalJson } from "../../protocol/canonical-json.ts";
import { MAX_TOOL_NAME_CHARS } from "../../protocol/limits.ts";
import { tries } from "../tries.ts";
import { generateModule, listingOf } from "./list-tools.ts";

const good = { name: "good", inputSchema: { type: "object" } };

describe("a definition that cannot be used as it is", () => {
  test.each<[string, unknown]>([
    [
      "a bound beyond all numbers",
      { type: "object", properties: { a: { maximum: Number.POSITIVE_INFINITY } } },
    ],
    ["a default that is no number", { properties: { a: { default: Number.NaN } } }],
  ])(
    "is any, with a warning, where its schema has %s, and the other tools are as they were",
    async (_what, schema) => {
      const odd = { name: "odd", inputSchema: schema, outputSchema: schema };
      const { catalog, files, warnings } = await planGeneration({ listings: [listingOf([odd, good])] });
      expect(catalog.servers[0]?.tools.map(({ name }) => name)).toEqual(["good", "odd"]);
      expect(files.get("servers/demo/index.ts")).toContain('"mcp__demo__good"');
      expect(warnings).toEqual(
        ["inputSchema", "outputSchema"].map((field) => ({
          server: "demo",
          tool: "odd",
          message: `its ${field} holds a number that JSON cannot carry, and is left out`,
        })),
      );
    },
  );

  test("is wider, with a warning, where too many alternatives would have to hold together", async () => {
    const alternatives = (key: string) => ({
      anyOf: Array.from({ length: 30 }, (_, i) => ({
        properties: { [`${key}${i}`]: {} },
        required: [`${key}${i}`],
      })),
    });
    const inputSchema = { type: "object", allOf: ["a", "b", "c"].map(alternatives) };
    const { warnings } = await generateModule([{ name: "wide", inputSchema }]);
    expect(warnings.map(({ message }) => message)).toEqual([
      "input: an intersection of too many alternatives is wider",
    ]);
  });

  test.each<[string, unknown]>([
    ["a text", "harmless"],
    ["a list", [{ readOnlyHint: true }]],
    ["true", true],
    ["larger than is kept", { readOnlyHint: true, more: "x".repeat(5_000_000) }],
    ["not JSON", { readOnlyHint: true, more: Number.NaN }],
  ])("has a hint that nobody believes where its annotations are %s", (_what, annotations) => {
    const problems: string[] = [];
    const tool = parseTool({ ...good, annotations }, (problem) => problems.push(problem));
    expect(tool?.annotations).toEqual({
      destructiveHint: expect.stringMatching(/^unreadable annotations, sha256:/),
    });
    expect(problems).toEqual(["its annotations cannot be read, so it counts as destructive"]);
    expect(definitionDigest({ ...good, annotations })).not.toBe(definitionDigest(good));
    expect(definitionDigest(tool)).toBe(definitionDigest({ ...good, annotations }));
  });

  test("of any kind has a digest, the same for what is kept of it", () => {
    fc.assert(
      fc.property(
        fc.record({
          name: fc.string(),
          title: fc.anything(),
          description: fc.anything(),
          inputSchema: fc.anything({ withBigInt: true, withNullPrototype: true }),
          outputSchema: fc.anything(),
          annotations: fc.anything(),
        }),
        (tool) => {
          const kept = parseTool(tool);
          expect(definitionDigest(kept)).toBe(definitionDigest(tool));
          expect(() => canonicalJson({ ...kept })).not.toThrow();
          expect(definitionDigest(readJson(writeJson(kept)))).toBe(definitionDigest(tool));
        },
      ),
      { numRuns: tries(120) },
    );
  });

  test("whose schema is deeper than any is wider and told, and the others are as they were", async () => {
    let deep: unknown = { type: "string" };
    for (let level = 0; level < 2_000; level++) deep = { type: "object", properties: { a: deep } };
    const { text, warnings } = await generateModule([{ name: "deep", inputSchema: deep }, good]);
    expect(text).toContain('"mcp__demo__good"');
    expect(text).toContain('"mcp__demo__deep"');
    expect(warnings).toEqual([
      { server: "demo", tool: "deep", message: "input: a schema deeper than 32 levels is any beyond them" },
    ]);
  });
});

describe("a tool whose name no call can carry", () => {
  const nameOf = (length: number) => "n".repeat(length - "mcp__demo__".length);

  test("is left out everywhere, with a warning", async () => {
    const longest = { ...good, name: nameOf(MAX_TOOL_NAME_CHARS) };
    const longer = { ...good, name: nameOf(MAX_TOOL_NAME_CHARS + 1) };
    const plan = await planGeneration({ listings: [listingOf([longer, longest, good])] });
    expect(plan.catalog.servers[0]?.tools.map(({ name }) => name)).toEqual(["good", longest.name]);
    expect([...(plan.lock.servers.get("demo")?.tools.keys() ?? [])]).toEqual(["good", longest.name]);
    for (const text of plan.files.values()) expect(text).not.toContain(longer.name);
    expect(plan.warnings).toEqual([
      {
        server: "demo",
        tool: longer.name,
        message: "is left out: with its server, its name has more than 512 characters",
      },
    ]);
  });
});

test("names, titles and descriptions hide nothing in signatures and modules", async () => {
  const odd = "a\u202eb\u2028c\u001b[2J\u0000\u200b\ud800\n*/ d";
  const schema = {
    type: "object",
    properties: { [odd]: { description: odd, enum: [odd], default: odd } },
    required: [odd],
  };
  for (const description of [odd, undefined]) {
    const tool = {
      name: odd,
      title: odd,
      inputSchema: schema,
      outputSchema: schema,
      ...(description && { description }),
    };
    const { text, server } = await generateModule([tool]);
    const [model] = server.tools;
    if (model === undefined) throw new Error("the tool is lost");
    for (const shown of [text, await printToolSignature(model), await printCompactSignature(model)])
      expect(shown).not.toMatch(/(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
  }
});
