import { afterAll, describe, expect, it } from "vitest";
import { checkAgainstSchema } from "../../../broker/schemas/schema-check.ts";
import { describeProblem, type SchemaProblem } from "../../../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../../../broker/schemas/schema-validator.ts";
import { rowsBeside } from "../../rows.ts";

const rows = rowsBeside(import.meta.filename);

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

type Row = [what: string, schema: unknown, value: unknown, problem?: string | undefined];

describe("checking arguments against a schema", () => {
  it.each<Row>([
    ...rows<Row>("values"),
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
    ["accepts anything without a schema", undefined, "x", undefined],
    ["accepts anything under a schema of a thousand levels", nested(1_000), "x", undefined],
  ])("%s", async (_name, schema, value, problem) => {
    expect(inWords(await validator.check(schema, value))).toBe(problem);
  });

  it.each<Row>(rows("schemas that are none"))(
    "understands of a schema that is none, wherever it is checked: %s",
    async (_name, schema, value, problem) => {
      expect(inWords(await validator.check(schema, value))).toBe(problem);
      expect(inWords(checkAgainstSchema(JSON.stringify(schema), value))).toBe(problem);
    },
  );
});

it("reads a schema once, however many values it checks", async () => {
  let reads = 0;
  const schema = {
    get type() {
      reads++;
      return "string";
    },
  };
  expect(inWords(await validator.check(schema, 1))).toBe("must be string, not 1");
  const once = reads;
  expect(await validator.check(schema, "a")).toBeUndefined();
  expect(reads).toBe(once);
});

it.each([
  ["true", true, undefined],
  ["null", null, undefined],
])("accepts anything under a schema that is %s", async (_name, schema, problem) => {
  for (let i = 0; i < 2; i++) expect(inWords(await validator.check(schema, { a: 1 }))).toBe(problem);
});
