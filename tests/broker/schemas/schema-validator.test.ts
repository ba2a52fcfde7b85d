import { afterAll, describe, expect, it } from "vitest";
import { describeProblem, type SchemaProblem } from "../../../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../../../broker/schemas/schema-validator.ts";

const validator = new IsolatingValidator();

/** A problem as a program reads it, without what the value is called. */
function inWords(problem: SchemaProblem | undefined): string | undefined {
  return problem === undefined ? undefined : describeProblem("", problem).trim();
}
afterAll(() => validator.close());

const object = (properties: object, rest: object = {}) => ({ type: "object", properties, ...rest });

/** A schema too deep for any validator, with a type that is none at the bottom. */
function nested(levels: number): unknown {
  let schema: unknown = { type: "file" };
  for (let i = 0; i < levels; i++) schema = { items: schema };
  return schema;
}

describe("checking arguments against a schema", () => {
  it.each<[string, unknown, unknown, string | undefined]>([
    ["accepts what fits", object({ a: { type: "number" } }), { a: 1 }, undefined],
    ["names a missing property", object({ a: {} }, { required: ["a"] }), {}, ".a is missing"],
    [
      "names an unknown property and the known ones",
      object({ limit: {}, query: {} }, { additionalProperties: false }),
      { limt: 1 },
      ".limt is not a known property; it takes limit, query",
    ],
    [
      "names the type that it wants",
      object({ a: { type: "number" } }),
      { a: "1" },
      '.a must be number, not "1"',
    ],
    [
      "names the values of an enum",
      object({ a: { enum: ["x", "y"] } }),
      { a: "z" },
      '.a must be one of "x", "y", not "z"',
    ],
    [
      "names a place inside an array",
      object({ items: { type: "array", items: object({ id: { type: "string" } }) } }),
      { items: [{ id: "a" }, { id: 2 }] },
      ".items[1].id must be string, not 2",
    ],
    ["refuses arguments that are no object", object({}), [1], "must be object, not [1]"],
    [
      "reads draft-07 tuples by their $schema",
      { $schema: "http://json-schema.org/draft-07/schema#", type: "array", items: [{ type: "string" }] },
      [1],
      "[0] must be string, not 1",
    ],
    [
      "reads 2020-12 tuples",
      { type: "array", prefixItems: [{ type: "string" }] },
      [1],
      "[0] must be string, not 1",
    ],
    [
      "follows references",
      { $ref: "#/$defs/a", $defs: { a: { type: "string" } } },
      1,
      "must be string, not 1",
    ],
    [
      "follows references to the whole",
      object({ children: { type: "array", items: { $ref: "#" } } }),
      { children: [{ children: [] }, { children: [{ children: 1 }] }] },
      ".children[1].children[0].children must be array, not 1",
    ],
    [
      "cuts what it quotes",
      object({ a: { enum: ["x".repeat(500)] } }),
      { a: { ["y".repeat(500)]: ["z".repeat(1_000)] } },
      `.a must be one of "${"x".repeat(79)}..., not {"${"y".repeat(78)}...`,
    ],
    [
      "quotes the beginning of what is large",
      object({ a: { type: "string" } }),
      { a: { b: [1, "c", null, { d: true }], e: Array(100).fill(0) } },
      `.a must be string, not {"b":[1,"c",null,{"d":true}],"e":[${"0,".repeat(23)}...`,
    ],
    [
      "shows characters that cannot be seen",
      object({}, { additionalProperties: false }),
      { "a\n\u202eb": 1 },
      ".a\\u{a}\\u{202e}b is not a known property",
    ],
    ["accepts anything under a schema that is none", { type: 12 }, "x", undefined],
    ...["date", "date-time", "time", "email", "uuid", "uri", "regex", "int32"].map(
      (format): [string, unknown, unknown, string | undefined] => [
        `asserts no format: ${format}`,
        object({ v: { type: "string", format } }, { required: ["v"] }),
        { v: "10:30 [" },
        undefined,
      ],
    ),
    [
      "asserts no format of draft-07",
      { $schema: "http://json-schema.org/draft-07/schema#", type: "string", format: "email" },
      "nobody",
      undefined,
    ],
    [
      "asserts no format beside what it understands",
      object({ a: { type: "file" }, b: { type: "string", format: "time" } }),
      { a: 1, b: "10:30:00" },
      undefined,
    ],
    ["accepts anything without a schema", undefined, "x", undefined],
    ["accepts nothing under false", false, "x", "boolean schema is false"],
    ["accepts anything under a schema that is itself", { allOf: [{ $ref: "#" }] }, "x", undefined],
    ["accepts anything under a schema of a thousand levels", nested(1_000), "x", undefined],
    ["does not fetch what a reference points to", { $ref: "http://127.0.0.1:9/x" }, "x", undefined],
  ])("%s", async (_name, schema, value, problem) => {
    expect(inWords(await validator.check(schema, value))).toBe(problem);
  });

  it.each<[string, unknown, unknown, string | undefined]>([
    [
      "required said by a property",
      object({ a: { required: true }, b: { required: false } }),
      {},
      ".a is missing",
    ],
    ["exclusive limits of draft 4", { minimum: 1, exclusiveMinimum: true }, 1, "must be > 1"],
    ["upper limits of draft 4", { maximum: 1, exclusiveMaximum: false }, 2, "must be <= 1"],
    [
      "tuples of draft-07 without $schema",
      { items: [{ type: "string" }], additionalItems: false },
      ["a", 1],
      "must NOT have more than 1 items",
    ],
    ["nullable with a type", object({ a: { type: "string", nullable: true } }), { a: null }, undefined],
    [
      "nullable with an enum",
      object({ a: { type: "string", nullable: true, enum: ["x"] } }),
      { a: null },
      undefined,
    ],
    [
      "nullable without a type",
      object({ a: { $ref: "#/$defs/x", nullable: true } }, { $defs: { x: { type: "string" } } }),
      { a: null },
      undefined,
    ],
    [
      "what else a nullable must be",
      object({ a: { type: "string", nullable: true } }),
      { a: 1 },
      ".a must be string, not 1",
    ],
    [
      "beside a type that is none",
      object({ a: { type: "file" }, b: { type: "string" } }),
      { a: 1, b: 2 },
      ".b must be string, not 2",
    ],
    [
      "beside an enum of nothing",
      object({ a: { enum: [] }, b: { type: "string" } }),
      { a: 1, b: 2 },
      ".b must be string, not 2",
    ],
    [
      "beside a pattern of another language",
      object({ a: { pattern: "(?i)x" }, b: { type: "string" } }),
      { a: "y", b: 2 },
      ".b must be string, not 2",
    ],
    [
      "beside a reference to nothing",
      object({ a: { $ref: "#/$defs/gone" }, b: { type: "string" } }),
      { a: 1, b: 2 },
      ".b must be string, not 2",
    ],
    [
      "beside a property that is no schema",
      object({ a: "text", b: { type: "string" } }),
      { a: 1, b: 2 },
      ".b must be string, not 2",
    ],
    [
      "names that match none of its patterns",
      object({}, { patternProperties: { "(?i)^x": {} }, additionalProperties: false }),
      { X1: 1 },
      undefined,
    ],
    [
      "what is not",
      object({ a: { not: { type: "file" } }, b: { type: "string" } }),
      { a: 1, b: "x" },
      undefined,
    ],
    [
      "one of several, of which one is none",
      { oneOf: [{ type: "file" }, { type: "string" }] },
      "x",
      undefined,
    ],
    [
      "anchors of draft-07 and of draft 4",
      object({ a: { $ref: "#x" }, b: { type: "string", $id: "#x" }, c: { id: "c" } }),
      { a: 1 },
      ".a must be string, not 1",
    ],
    [
      "a schema that wants to be asked later",
      { $async: true, type: "object", required: ["a"] },
      {},
      ".a is missing",
    ],
  ])("understands of a schema that is none: %s", async (_name, schema, value, problem) => {
    expect(inWords(await validator.check(schema, value))).toBe(problem);
  });

  it("refuses a value whose pattern runs away, and goes on with others", async () => {
    const hostile = { type: "string", pattern: "^(a+)+$" };
    const [runaway, other] = await Promise.all([
      validator.check(hostile, `${"a".repeat(40)}!`),
      validator.check(object({ a: { type: "number" } }), { a: 1 }),
    ]);
    expect(runaway).toEqual({ unchecked: "its schema takes too long" });
    expect(other).toBeUndefined();
    expect(await validator.check(hostile, "aaa")).toBeUndefined();
  });
});
