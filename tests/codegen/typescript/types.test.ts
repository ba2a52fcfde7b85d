import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { normalizeSchema } from "../../../catalog/model/normalize-schema.ts";
import { generateInput } from "../list-tools.ts";

const property = (schema: unknown) => ({ type: "object", properties: { a: schema }, required: ["a"] });
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

/** Schemas of a property and the types that they are given, by what they are. */
const TYPES: Record<string, [schema: unknown, type: string]> = parse(
  readFileSync(join(import.meta.dirname, "types.yaml"), "utf8"),
);

describe("types", () => {
  test.each(Object.entries(TYPES))("%s", async (_what, [schema, type]) => {
    expect(await generateInput(property(schema))).toBe(`export interface TInput {\n  a: ${type};\n}`);
  });

  test.each<[what: string, value: unknown, type: string]>([
    ["64 items", Array(64).fill(0), `[${Array(64).fill(0).join(", ")}]`],
    ["65 items", Array(65).fill(0), "unknown[]"],
    ["65 members", Object.fromEntries(Array(65).entries()), "{ [k: string]: unknown }"],
  ])("a constant of %s is spelled out only up to 64", async (_what, value, type) => {
    expect(await generateInput(property({ const: value }))).toBe(
      `export interface TInput {\n  a: ${type};\n}`,
    );
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

  test.each<[what: string, schema: object, documentation: string[]]>([
    [
      "of items and of values",
      { type: "array", items: { additionalProperties: { description: "V." } } },
      ["Items: Values: V."],
    ],
    ["of one alternative", { anyOf: [{ description: "One." }] }, ["One."]],
    [
      "of alternatives, each once",
      { anyOf: [{ description: "One." }, { description: "One." }, {}], oneOf: [{ description: "Two." }] },
      ["- One.", "- Two."],
    ],
    [
      "of parts, but for what is said already",
      {
        description: " Said. ",
        anyOf: [{ description: "One." }],
        allOf: [
          { description: "Part." },
          { description: "One." },
          { description: "Said." },
          { description: " Said. " },
        ],
      },
      ["Said.", "One.", "Part."],
    ],
    ["of nothing that is no text", { description: 5, anyOf: ["x", { description: " " }] }, []],
    ["of four levels", { anyOf: [{ anyOf: [{ anyOf: [{ anyOf: [{ description: "4" }] }] }] }] }, ["4"]],
    [
      "of no more than four",
      { anyOf: [{ anyOf: [{ anyOf: [{ anyOf: [{ anyOf: [{ description: "5" }] }] }] }] }] },
      [],
    ],
  ])("the description of a property has the descriptions %s", (_what, schema, documentation) => {
    const { root } = normalizeSchema(object({ a: schema }), () => {});
    const [property] = root.kind === "object" ? root.properties : [];
    expect(property?.documentation.description).toBe(
      documentation.length === 0 ? undefined : documentation.join("\n"),
    );
  });
});
