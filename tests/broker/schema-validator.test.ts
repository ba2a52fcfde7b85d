import { afterAll, describe, expect, it } from "vitest";
import { IsolatingValidator } from "../../broker/schema-validator.ts";

const validator = new IsolatingValidator();
afterAll(() => validator.close());

const object = (properties: object, rest: object = {}) => ({ type: "object", properties, ...rest });

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
    ["checks formats", { type: "string", format: "date" }, "tomorrow", 'must match format "date"'],
    ["accepts anything under a schema that is none", { type: 12 }, "x", undefined],
    ["accepts anything without a schema", undefined, "x", undefined],
    ["accepts nothing under false", false, "x", "boolean schema is false"],
    ["does not fetch what a reference points to", { $ref: "http://127.0.0.1:9/x" }, "x", undefined],
  ])("%s", async (_name, schema, value, problem) => {
    expect((await validator.check(schema, value))?.trim()).toBe(problem);
  });

  it("refuses a value whose pattern runs away, and goes on with others", async () => {
    const hostile = { type: "string", pattern: "^(a+)+$" };
    const [runaway, other] = await Promise.all([
      validator.check(hostile, `${"a".repeat(40)}!`),
      validator.check(object({ a: { type: "number" } }), { a: 1 }),
    ]);
    expect(runaway).toContain("takes too long");
    expect(other).toBeUndefined();
    expect(await validator.check(hostile, "aaa")).toBeUndefined();
  });
});
