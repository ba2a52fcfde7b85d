import { describe, expect, test } from "vitest";
import { generateInput } from "../list-tools.ts";

const property = (schema: unknown) => ({ type: "object", properties: { a: schema }, required: ["a"] });
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

/** A property's schema and the type it is given. */
const TYPES: [string, unknown, string][] = [
  ["a string", { type: "string" }, "string"],
  ["an integer", { type: "integer" }, "number"],
  ["anything", {}, "unknown"],
  ["true", true, "unknown"],
  ["false", false, "never"],
  ["an unknown type", { type: "file" }, "unknown"],
  ["a list of types", { type: ["string", "null"] }, "string | null"],
  ["nullable", { type: "string", nullable: true }, "string | null"],
  ["const", { const: 5 }, "5"],
  ["const null", { const: null }, "null"],
  ["an enum", { type: "string", enum: ["a", "b"] }, '"a" | "b"'],
  ["an enum with null", { type: ["string", "null"], enum: ["a", null] }, '"a" | null'],
  ["an empty enum", { type: "string", enum: [] }, "string"],
  ["an enum within its type", { type: "string", enum: ["a", 1] }, '"a"'],
  ["an enum against its type", { type: "string", enum: [1] }, "1"],
  ["an array", { type: "array", items: { type: "string" } }, "string[]"],
  ["an array of anything", { type: "array" }, "unknown[]"],
  [
    "an array of alternatives",
    { type: "array", items: { type: ["string", "number"] } },
    "(string | number)[]",
  ],
  ["an array of one value", { type: "array", items: { const: "x" } }, '"x"[]'],
  ["items without a type", { items: { type: "string" } }, "string[]"],
  [
    "a tuple (2020-12)",
    { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false, minItems: 2 },
    "[string, number]",
  ],
  [
    "a tuple (draft-07)",
    { type: "array", items: [{ type: "string" }], additionalItems: { type: "number" }, minItems: 1 },
    "[string, ...number[]]",
  ],
  [
    "a tuple that may be shorter",
    { type: "array", prefixItems: [{ type: "string" }], items: false },
    "[] | [string]",
  ],
  [
    "an array of tuples that may be shorter",
    { type: "array", items: { prefixItems: [{ type: "string" }], maxItems: 1 } },
    "([] | [string])[]",
  ],
  ["a map", { type: "object", additionalProperties: { type: "number" } }, "{ [k: string]: number }"],
  [
    "a map by pattern",
    { type: "object", patternProperties: { "^x": { type: "number" } }, additionalProperties: false },
    "{ [k: string]: number }",
  ],
  ["an object of nothing known", { type: "object" }, "{ [k: string]: unknown }"],
  ["an object of nothing", { type: "object", additionalProperties: false }, "{ [k: string]: never }"],
  ["anyOf with the same twice", { anyOf: [{ type: "string" }, { type: "string", format: "uri" }] }, "string"],
  ["oneOf with a wider member", { oneOf: [{ const: "x" }, { type: "string" }] }, "string"],
  ["anyOf under a type", { type: "string", anyOf: [{ enum: ["x"] }, { type: "number" }] }, '"x"'],
  ["alternatives with anything among them", { anyOf: [{ type: "string" }, {}] }, "unknown"],
  ["a $ref to a scalar", { $ref: "#/properties/a/$defs/x", $defs: { x: { type: "string" } } }, "string"],
  ["a $ref to nothing", { $ref: "#/nowhere" }, "unknown"],
];

describe("types", () => {
  test.each(TYPES)("%s", async (_what, schema, type) => {
    expect(await generateInput(property(schema))).toBe(`export interface TInput {\n  a: ${type};\n}`);
  });

  test("property names that are no identifiers are quoted, and stay apart", async () => {
    const schema = object({
      "If-Match": { type: "string" },
      "StartTime<": {},
      "StartTime>": {},
      "{{userId}}": {},
      __proto__x: {},
    });
    expect(await generateInput(schema)).toBe(
      [
        "export interface TInput {",
        '  "If-Match"?: string;',
        '  "StartTime<"?: unknown;',
        '  "StartTime>"?: unknown;',
        '  "{{userId}}"?: unknown;',
        "  __proto__x?: unknown;",
        "}",
      ].join("\n"),
    );
  });

  test("a property called __proto__ is a property", async () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
    );
    expect(await generateInput(schema)).toBe("export interface TInput {\n  __proto__: string;\n}");
  });

  test("a required property that is not declared is there", async () => {
    expect(await generateInput(object({}, { required: ["b"] }))).toBe(
      "export interface TInput {\n  b: unknown;\n}",
    );
  });

  test("a property that says of itself that it is required, as draft 3 had it, is", async () => {
    expect(
      await generateInput(object({ a: { type: "string", required: true }, b: { required: false } })),
    ).toBe("export interface TInput {\n  a: string;\n  b?: unknown;\n}");
  });

  test("allOf makes one object", async () => {
    const schema = {
      type: "object",
      allOf: [
        object({ a: { type: "string" } }, { required: ["a"] }),
        object({ b: { type: "number" }, a: { enum: ["x"] } }),
      ],
    };
    expect(await generateInput(schema)).toBe('export interface TInput {\n  a: "x";\n  b?: number;\n}');
  });

  test("alternatives beside properties are an intersection", async () => {
    const schema = object({ a: {}, b: {} }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] });
    expect(await generateInput(schema)).toBe(
      "export type TInput = {\n  a?: unknown;\n  b?: unknown;\n} & ({\n  a: unknown;\n} | {\n  b: unknown;\n});",
    );
  });

  test("a recursive definition is a named type", async () => {
    const schema = {
      ...object({ root: { $ref: "#/$defs/tree-node" } }),
      $defs: { "tree-node": object({ children: { type: "array", items: { $ref: "#/$defs/tree-node" } } }) },
    };
    expect(await generateInput(schema)).toBe(
      "export interface TInput {\n  root?: TTreeNode;\n}\n\nexport interface TTreeNode {\n  children?: TTreeNode[];\n}",
    );
  });

  test("a schema that refers to its root has one type", async () => {
    const schema = object({ child: { $ref: "#" } });
    expect(await generateInput(schema)).toBe("export interface TInput {\n  child?: TInput;\n}");
  });

  test("descriptions, defaults, formats and deprecation are documentation", async () => {
    const schema = object({
      a: { type: "string", description: "First.\nSecond.", default: "x", format: "uri", deprecated: true },
      b: { type: "number", description: "Defaults to 5.", default: 5 },
      c: { type: "array", items: { type: "string", description: "A name." } },
    });
    expect(await generateInput(schema)).toBe(
      [
        "export interface TInput {",
        "  /**",
        "   * First.",
        "   * Second.",
        '   * @default "x"',
        "   * @format uri",
        "   * @deprecated",
        "   */",
        "  a?: string;",
        "  /** Defaults to 5. */",
        "  b?: number;",
        "  /** Items: A name. */",
        "  c?: string[];",
        "}",
      ].join("\n"),
    );
  });
});
