import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../tries.ts";
import { compileModules } from "./compile-generated.ts";
import { generateModule } from "./list-tools.ts";
import { parseModule, tokenizeModule } from "./parse-module.ts";

const INJECTIONS = [
  "*/ evil(); /*",
  "/** */ evil() //",
  "*\u2028/ evil()",
  "</script><script>evil()</script>",
  "`$" + "{evil()}`",
  '"; evil(); "',
  "'; evil(); '",
  "a\nevil();\n",
  "a\r\nevil();",
  "a\u2028evil();\u2029",
  "\u202eevil\u202c",
  "\u0000\u0001\u001b[2J",
  "\ud800",
  "\u{e0041}\u{e0042}",
  "@ts-nocheck",
  "\n@ts-expect-error",
  "@ts-ignore",
  "# sourceMappingURL=evil.map",
  "\\",
  '\\\\"',
  "}; evil(); interface X {",
  "ptc$t0",
  "ptc$root: any\n}",
  "[k: string]",
  "__proto__",
  "constructor",
  "toString",
  "",
];

const text = fc.oneof(fc.constantFrom(...INJECTIONS), fc.string({ unit: "binary", maxLength: 30 }));
const value = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.double());
const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.boolean(),
    fc.record(
      {
        type: fc.oneof(
          fc.constantFrom("string", "object", "array", "null", "integer"),
          text,
          fc.array(text, { maxLength: 3 }),
        ),
        title: text,
        description: text,
        default: value,
        format: text,
        tsType: text,
        tsEnumNames: fc.array(text, { maxLength: 3 }),
        customName: text,
        $id: text,
        $ref: fc.oneof(
          text,
          fc.constantFrom("#", "#/properties/a", "#/$defs/a", "file:///etc/passwd", "http://127.0.0.1:9/x"),
        ),
        $defs: fc.dictionary(text, tie("schema"), { maxKeys: 2 }),
        const: value,
        enum: fc.array(value, { maxLength: 3 }),
        properties: fc.dictionary(text, tie("schema"), { maxKeys: 3 }),
        required: fc.oneof(fc.array(text, { maxLength: 3 }), fc.boolean()),
        items: fc.oneof(tie("schema"), fc.array(tie("schema"), { maxLength: 3 })),
        prefixItems: fc.array(tie("schema"), { maxLength: 3 }),
        anyOf: fc.array(tie("schema"), { maxLength: 3 }),
        oneOf: fc.array(tie("schema"), { maxLength: 3 }),
        allOf: fc.array(tie("schema"), { maxLength: 3 }),
        additionalProperties: tie("schema"),
        patternProperties: fc.dictionary(text, tie("schema"), { maxKeys: 2 }),
        nullable: fc.boolean(),
        minItems: fc.integer(),
        deprecated: value,
        extends: fc.anything(),
      },
      { requiredKeys: [] },
    ),
  ),
}));
const tool = fc.record({
  name: text,
  title: text,
  description: text,
  inputSchema: schema,
  outputSchema: schema,
});

/** Half a surrogate pair cannot stand in a pointer. */
function wellFormed(value: string): string {
  return Buffer.from(value).toString();
}

/** No character of a module may hide from its reader, and no comment may carry a directive. */
function expectPlain(source: string): void {
  expect(source).not.toMatch(/(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
  expect(source).not.toContain("</");
  for (const token of tokenizeModule(source)) {
    if (token.kind === "comment") expect(token.text).not.toMatch(/^[\s*/]*@ts-/m);
  }
}

/** A module in which a text stands wherever a server can put one. */
async function injected(injection: string): Promise<string> {
  const inputSchema = {
    type: "object",
    title: injection,
    tsType: injection,
    $id: injection,
    description: injection,
    required: [injection],
    properties: {
      [injection]: {
        description: injection,
        default: injection,
        enum: [injection],
        tsEnumNames: [injection],
      },
      list: { type: "array", items: { const: injection, title: injection, tsType: injection } },
      ref: { $ref: injection },
      named: { $ref: `#/$defs/${encodeURIComponent(wellFormed(injection))}` },
      map: { patternProperties: { [injection]: { type: "string", description: injection } } },
    },
    $defs: {
      [wellFormed(injection)]: { type: "object", title: injection, properties: { [injection]: {} } },
    },
  };
  const said = { name: injection, title: injection, description: injection };
  const definition = { ...said, inputSchema, outputSchema: inputSchema };
  return (await generateModule([definition, { name: "plain", description: injection }], injection)).text;
}

const injections = await Promise.all(
  INJECTIONS.map(async (injection) => ({ injection, text: await injected(injection) })),
);
const compiled = compileModules(injections.map(({ text }) => text));

describe("hostile definitions", () => {
  test.each(injections.map((each, i) => ({ ...each, lines: compiled[i] })))(
    "$injection stays inside its comment, string or type wherever it stands",
    ({ injection, text, lines }) => {
      const called = parseModule(text).flatMap((each) => (each.kind === "tool" ? [each.calls] : []));
      expect(called.sort()).toEqual([`mcp__demo__${injection}`, "mcp__demo__plain"].sort());
      expectPlain(text);
      expect(lines).toEqual([]);
    },
  );

  test("any definitions give a module of imports, types and tools alone", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(tool, { maxLength: 4 }), async (tools) => {
        const { text, server } = await generateModule(tools);
        const statements = parseModule(text);
        const called = statements.flatMap((statement) =>
          statement.kind === "tool" ? [statement.calls] : [],
        );
        expect(called).toEqual(server.tools.map((each) => each.namespacedName));
        expect(new Set(called).size).toBe(new Set(tools.map((each) => each.name)).size);
        expectPlain(text);
      }),
      { numRuns: tries(80) },
    );
  });

  test("modules of any definitions compile", async () => {
    const samples = fc.sample(fc.array(tool, { minLength: 1, maxLength: 6 }), {
      numRuns: tries(50),
      seed: 42,
    });
    const modules = await Promise.all(samples.map(async (tools) => (await generateModule(tools)).text));
    expect(compileModules(modules).flat()).toEqual([]);
  });

  test("references to files and to the network are not followed, and say so", async () => {
    for (const $ref of [
      "file:///etc/hostname",
      "/etc/hostname",
      "http://127.0.0.1:9/schema.json",
      "other.json#/a",
    ]) {
      const { text, warnings } = await generateModule([
        { name: "t", inputSchema: { type: "object", properties: { a: { $ref } } } },
      ]);
      expect(text).toContain("a?: unknown;");
      expect(warnings).toEqual([
        { server: "demo", tool: "t", message: "input: a $ref that points outside of the schema is any" },
      ]);
    }
  });

  test("one schema that is no schema does not take the other tools down", async () => {
    const { text, warnings } = await generateModule([
      { name: "good", inputSchema: { type: "object", properties: { a: { type: "string" } } } },
      { name: "bad", inputSchema: "nonsense", outputSchema: 7 },
      { name: 7 },
      null,
      { name: "good", inputSchema: {} },
    ]);
    expect(text).toContain("a?: string;");
    expect(text).toContain('export const bad = tool<BadInput, BadOutput>("mcp__demo__bad");');
    expect(warnings.map(({ tool, message }) => [tool, message])).toEqual([
      ["good", "is listed twice; the first one counts"],
      [undefined, "2 entries without a name left out of the list of tools"],
      ["bad", "input: a schema that is not an object allows any arguments"],
      ["bad", "output: a schema that is neither an object nor a boolean is any"],
    ]);
  });

  test.each<[string, () => unknown]>([
    [
      "a schema 1,000 levels deep",
      () => nest(1_000, (inner) => ({ type: "object", properties: { a: inner } })),
    ],
    [
      "arrays 100,000 levels deep",
      () => JSON.parse(`${'{"items":'.repeat(100_000)}{}${"}".repeat(100_000)}`),
    ],
    [
      "alternatives 1,000 levels deep",
      () => nest(1_000, (inner) => ({ anyOf: [inner, { type: "string" }] })),
    ],
    ["10,000 properties", () => ({ type: "object", properties: many(10_000, () => ({ type: "string" })) })],
    [
      "10,000 enum values",
      () => ({ properties: { a: { enum: Array.from({ length: 10_000 }, (_, i) => `v${i}`) } } }),
    ],
    [
      "a description of 1.6 MB",
      () => ({
        type: "object",
        description: "x ".repeat(800_000),
        properties: { a: { description: "y ".repeat(800_000) } },
      }),
    ],
    [
      "a definition of itself",
      () => ({
        $ref: "#/$defs/a",
        $defs: { a: { $ref: "#/$defs/b" }, b: { anyOf: [{ $ref: "#/$defs/a" }, { type: "null" }] } },
      }),
    ],
    [
      "a chain of 5,000 references",
      () => ({
        properties: { a: { $ref: "#/$defs/d0" } },
        $defs: many(
          5_000,
          (i) => ({ type: "object", properties: { next: { $ref: `#/$defs/d${i + 1}` } } }),
          "d",
        ),
      }),
    ],
    [
      "references that double 60 times",
      () => ({
        properties: { a: { $ref: "#/$defs/d0" } },
        $defs: many(
          60,
          (i) => ({
            type: "object",
            properties: { l: { $ref: `#/$defs/d${i + 1}` }, r: { $ref: `#/$defs/d${i + 1}` } },
          }),
          "d",
        ),
      }),
    ],
    [
      "unions that multiply",
      () => ({
        properties: {
          a: {
            allOf: Array.from({ length: 12 }, (_, i) => ({
              anyOf: Array.from({ length: 12 }, (_, j) => ({
                type: "object",
                properties: { [`p${i}_${j}`]: { type: "string" } },
              })),
            })),
          },
        },
      }),
    ],
  ])("%s is survived in bounded time", async (_what, build) => {
    const schema = build();
    const { text } = await generateModule([
      { name: "t", description: "z ".repeat(10), inputSchema: schema, outputSchema: schema },
    ]);
    expect(parseModule(text).filter((statement) => statement.kind === "tool")).toHaveLength(1);
    expect(text.length).toBeLessThan(4_000_000);
    expect(compileModules([text])).toEqual([[]]);
  });

  test("1,000 tools with a description of 16 KB each are generated", async () => {
    const tools = Array.from({ length: 1_000 }, (_, i) => ({
      name: `tool_${i}`,
      description: "word ".repeat(3_200),
    }));
    const { server } = await generateModule(tools);
    expect(server.tools).toHaveLength(1_000);
  });
});

function nest(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let schema: unknown = { type: "string" };
  for (let i = 0; i < levels; i++) schema = wrap(schema);
  return schema;
}

function many(count: number, build: (i: number) => unknown, prefix = "p"): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, build(i)]));
}
