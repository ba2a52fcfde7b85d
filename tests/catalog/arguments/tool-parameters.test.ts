import { describe, expect, it } from "vitest";
import { describeTypes, readArgument, toolParameters } from "../../../catalog/arguments.ts";
import { Random } from "../../fuzz/random.ts";
import { sampleSchema } from "../../fuzz/targets/schema.ts";

const object = (properties: object, rest: object = {}) => ({ type: "object", properties, ...rest });

const NUMBERS = Array.from({ length: 14 }, (_, i) => i);

/** What `text` is read as, for an argument with that schema. */
function read(schema: unknown, text: string): unknown {
  const [parameter] = toolParameters(object({ a: schema })).parameters;
  if (parameter === undefined) throw new Error("there is no parameter");
  const result = readArgument(text, parameter);
  return result.ok ? result.value : new Error(result.why);
}

describe("an argument that is written as text", () => {
  it.each<[schema: unknown, text: string, value: unknown]>([
    [{ type: "string" }, "5", "5"],
    [{ type: "string" }, "", ""],
    [{ type: "string" }, '"quoted"', '"quoted"'],
    [{ type: "integer" }, "5", 5],
    [{ type: "integer" }, "-5", -5],
    [{ type: "number" }, "1.5e3", 1500],
    [{ type: "boolean" }, "true", true],
    [{ type: "array", items: { type: "string" } }, '["a", "b"]', ["a", "b"]],
    [{ type: "array", items: { type: "string" } }, "a", ["a"]],
    [{ type: "array", items: { type: "integer" } }, "7", [7]],
    [{ type: "object" }, '{"b": [1]}', { b: [1] }],
    [{ type: ["string", "null"] }, "null", null],
    [{ type: ["string", "null"] }, '"null"', "null"],
    [{ type: ["string", "null"] }, "nothing", "nothing"],
    [{ anyOf: [{ type: "string" }, { type: "integer" }] }, "5", 5],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "5", 5],
    [{ oneOf: [{ type: "array" }, { type: "string" }] }, "a b", "a b"],
    [{ allOf: [{ type: ["string", "integer"] }, { type: "number" }] }, "5", 5],
    [{ $ref: "#/properties/a/$defs/x", $defs: { x: { type: "boolean" } } }, "false", false],
    [{ enum: ["quick", "slow"] }, "slow", "slow"],
    [{ enum: [1, 2] }, "2", 2],
    [{ const: "only" }, "only", "only"],
    [{}, "5", 5],
    [{}, "five", "five"],
    [true, '{"a": 1}', { a: 1 }],
    [{}, "12345678901234567890", "12345678901234567890"],
    [{ type: "number" }, "0.5", 0.5],
    [{ type: "array" }, "a", ["a"]],
  ])("with %j, %s is %j", (schema, text, value) => {
    expect(read(schema, text)).toEqual(value);
  });

  it.each<[schema: unknown, text: string, why: string]>([
    [{ type: "integer" }, "five", "must be a whole number"],
    [{ type: "integer" }, "1.5", "must be a whole number"],
    [{ type: "integer" }, "12345678901234567890", "is a number with more digits than JSON can carry exactly"],
    [{ type: "number" }, "1e999", "must be a number"],
    [{ type: "boolean" }, "yes", "must be true or false"],
    [{ type: "array", items: { type: "integer" } }, "[1,", "must be a list, as JSON"],
    [{ type: "array", items: { type: "integer" } }, "x", "must be a whole number"],
    [{ type: "object" }, "[]", "must be an object"],
    [{ type: ["integer", "null"] }, "x", "must be a whole number or null"],
    [{ enum: ["quick", "slow"] }, "fast", 'must be one of "quick", "slow"'],
    [{ type: "array", items: { enum: ["a"] } }, "b", 'must be one of "a"'],
    [{ enum: NUMBERS.slice(0, 12) }, "20", `must be one of ${NUMBERS.slice(0, 12).join(", ")}`],
    [{ enum: NUMBERS }, "20", `must be one of ${NUMBERS.slice(0, 12).join(", ")}, and 2 others`],
    [{ type: "array", items: { type: "integer" } }, " [1,", "must be a list, as JSON"],
    [{ type: "object" }, "{", "must be an object, as JSON"],
    [
      { type: "integer" },
      " 12345678901234567890 ",
      "is a number with more digits than JSON can carry exactly",
    ],
  ])("with %j, %s is refused", (schema, text, why) => {
    expect(read(schema, text)).toEqual(new Error(why));
  });
});

describe("the arguments of a tool", () => {
  const summary = (schema: unknown) => {
    const { parameters, isOpen } = toolParameters(schema);
    return [
      isOpen,
      ...parameters.map(
        ({ name, isRequired, types }) =>
          `${name}${isRequired ? "!" : ""}: ${types === undefined ? "?" : describeTypes(types)}`,
      ),
    ];
  };

  it("are those of the schema and of all that it is put together from, required ones first", () => {
    expect(
      summary({
        $defs: { paged: object({ page: { type: "integer" } }, { required: ["page"] }) },
        ...object({ q: { type: "string" } }),
        allOf: [{ $ref: "#/$defs/paged" }],
        anyOf: [object({ id: { type: "integer" } }, { required: ["id"] }), object({ name: {} })],
      }),
    ).toEqual([false, "page!: a whole number", "q: a text", "id: a whole number", "name: ?"]);
  });

  it("have the description, the default, the types, the choices and the items that the schema states first", () => {
    const level = { description: "How loud.", default: 3, type: "integer", enum: [1, 3] };
    const unstated = { isRequired: false, description: undefined, default: undefined, choices: undefined };
    expect(
      toolParameters({
        ...object({ level, words: { type: "array", items: { type: "string" } }, odd: { description: 5 } }),
        required: ["level", 7],
        oneOf: [object({ level: { type: "string" }, either: { const: "x" } })],
      }),
    ).toEqual({
      parameters: [
        {
          ...{ name: "level", isRequired: true, description: "How loud.", default: 3 },
          ...{ types: new Set(["integer"]), choices: [1, 3], items: undefined },
        },
        {
          ...{ ...unstated, name: "words", types: new Set(["array"]) },
          items: { types: new Set(["string"]), choices: undefined, items: undefined },
        },
        { ...unstated, name: "odd", types: undefined, items: undefined },
        { ...unstated, name: "either", types: new Set(["string"]), choices: ["x"], items: undefined },
      ],
      isOpen: false,
    });
  });

  it.each([
    { goesRound: "in its items", endless: { type: "array", items: { $ref: "#/properties/endless" } } },
    { goesRound: "in its parts", endless: { type: "array", allOf: [{ $ref: "#/properties/endless" }] } },
  ])("are read to the last, though the first goes round $goesRound", ({ endless }) => {
    expect(summary(object({ endless, last: { type: "integer" } }))).toEqual([
      ...[false, "endless: a list", "last: a whole number"],
    ]);
  });

  it.each<[schema: unknown, isOpen: boolean]>([
    [object({}), false],
    [object({ a: {} }, { additionalProperties: false }), false],
    [object({ a: {} }, { additionalProperties: { type: "string" } }), true],
    [object({ a: {} }, { patternProperties: { "^x": {} } }), true],
    [{ type: "object" }, true],
    [{ type: "object", additionalProperties: false }, false],
    [{}, true],
    [true, true],
    [null, true],
  ])("may be others besides with %j: %s", (schema, isOpen) => {
    expect(toolParameters(schema).isOpen).toBe(isOpen);
  });

  it("are found in bounded time in a schema that goes round and multiplies", () => {
    const knot = { anyOf: Array.from({ length: 50 }, () => ({ $ref: "#/$defs/knot" })) };
    const schema = { $defs: { knot }, ...object({ a: { $ref: "#/$defs/knot" }, b: { type: "integer" } }) };
    expect(toolParameters(schema).parameters.map(({ name }) => name)).toEqual(["a", "b"]);
  });

  it("are found, or not, in any schema", () => {
    const random = new Random(7);
    for (let i = 0; i < 3_000; i++) {
      const { parameters } = toolParameters(sampleSchema(random));
      for (const parameter of parameters) {
        for (const text of ["5", "[1]", "x", '{"a":1}']) readArgument(text, parameter);
      }
    }
  });
});
