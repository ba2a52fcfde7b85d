import { describe, expect, it } from "vitest";
import {
  describeTypes,
  misnamedArgument,
  readArgument,
  takesNothing,
  toolParameters,
} from "../../../catalog/arguments.ts";
import { Random } from "../../fuzz/random.ts";
import { sampleSchema } from "../../fuzz/targets/schema.ts";

const object = (properties: object, rest: object = {}) => ({ type: "object", properties, ...rest });

const NUMBERS = Array.from({ length: 14 }, (_, i) => i);

/** What `text` is read as, for an argument with that schema. */
function read(schema: unknown, text: string): unknown {
  const $defs = { x: { type: "boolean" } };
  const [parameter] = toolParameters(object({ a: schema }, { $defs })).parameters;
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
    [{}, "3.10", "3.10"],
    [{ type: ["number", "string"] }, "1.0", "1.0"],
    [{ type: "number" }, "3.10", 3.1],
    [{ type: "number" }, "0.5", 0.5],
    [{ type: "array" }, "a", ["a"]],
    [{ anyOf: [{ enum: ["a"] }, { type: "string" }] }, "b", "b"],
    [{ anyOf: [{ type: "integer" }, {}] }, "x", "x"],
    [{ enum: "none" }, "x", "x"],
  ])("with %j, %s is %j", (schema, text, value) => {
    expect(read(schema, text)).toEqual(value);
  });

  it("keep all digits of a whole number", () => {
    for (const schema of [{}, { type: "integer" }, { type: ["integer", "string"] }])
      expect(read(schema, " 12345678901234567890 ")).toBe(12345678901234567890n);
    expect(read({ type: "string" }, "12345678901234567890")).toBe("12345678901234567890");
  });

  it.each<[schema: unknown, text: string, why: string]>([
    [{ type: "integer" }, "five", "must be a whole number"],
    [{ type: "integer" }, "1.5", "must be a whole number"],
    [{ type: "integer" }, "1e400", "must be a whole number"],
    [{ type: "number" }, "1e999", "must be a number"],
    [{ type: "boolean" }, "yes", "must be true or false"],
    [{ type: "array", items: { type: "integer" } }, "[1,", "must be a list, as JSON"],
    [{ type: "array", items: { type: "integer" } }, "x", "must be a whole number"],
    [{ type: "object" }, "[]", "must be an object"],
    [{ type: ["integer", "null"] }, "x", "must be a whole number or null"],
    [{ $ref: "#/$defs/x" }, "yes", "must be true or false"],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "x", "must be a whole number or null"],
    [{ oneOf: [{ type: "boolean" }, { $ref: "#/$defs/x" }] }, "x", "must be true or false"],
    [{ allOf: [{ type: ["string", "integer"] }, { type: "number" }] }, "x", "must be a whole number"],
    [{ const: 5 }, "x", "must be a whole number"],
    [{ enum: [null, 0.5, true] }, "x", "must be null or a number or true or false"],
    [{ enum: ["quick", "slow"] }, "fast", 'must be one of "quick", "slow"'],
    [{ type: "array", items: { enum: ["a"] } }, "b", 'must be one of "a"'],
    [{ enum: NUMBERS.slice(0, 12) }, "20", `must be one of ${NUMBERS.slice(0, 12).join(", ")}`],
    [{ enum: NUMBERS }, "20", `must be one of ${NUMBERS.slice(0, 12).join(", ")}, and 2 others`],
    [{ type: "array", items: { type: "integer" } }, " [1,", "must be a list, as JSON"],
    [{ type: "object" }, "{", "must be an object, as JSON"],
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
    [{ allOf: [object({ a: {} })] }, false],
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

describe("a tool without arguments", () => {
  const silent = {
    $comment: "",
    $defs: {},
    $id: "x",
    $schema: "x",
    definitions: {},
    description: "",
    title: "",
  };
  it.each<[schema: unknown, isOne: boolean]>([
    [object({}), true],
    [{ properties: {} }, true],
    [object({}, { required: [], additionalProperties: false, ...silent }), true],
    [{ type: "object" }, false],
    [object({ a: {} }), false],
    [object({}, { additionalProperties: {} }), false],
    [object({}, { required: ["a"] }), false],
    [object({}, { required: "a" }), false],
    [object({}, { patternProperties: {} }), false],
    [object([]), false],
    [{}, false],
    [true, false],
    [null, false],
  ])("has an empty list of properties and nothing that allows others: %j: %s", (schema, isOne) => {
    expect(takesNothing(schema)).toBe(isOne);
  });
});

it("reads a schema once, however many calls ask for its arguments", () => {
  const schema = object({ userId: {} });
  const read = toolParameters(schema);
  misnamedArgument(schema, { user_id: 1 });
  expect(toolParameters(schema)).toBe(read);
  expect(toolParameters(object({ userId: {} }))).not.toBe(read);
});

describe("a wrong name of an argument", () => {
  const byId = object({ userId: {}, all: {} });
  it.each<
    [schema: unknown, args: unknown, misnamed: { name: string; meant: string | undefined } | undefined]
  >([
    [byId, { user_id: 1 }, { name: "user_id", meant: "userId" }],
    [byId, { all: 1, "USER-ID": 1 }, { name: "USER-ID", meant: "userId" }],
    [byId, { userId: 1 }, undefined],
    [byId, { userId: 1, user_id: 1 }, undefined],
    [byId, { userId: 1, all: 1, ALL: 1 }, undefined],
    [byId, { user: 1 }, undefined],
    [byId, {}, undefined],
    [byId, "user_id", undefined],
    [object({ userId: {}, user_id: {} }), { user_id: 1 }, undefined],
    [object({ userId: {} }, { additionalProperties: true }), { user_id: 1 }, undefined],
    [object({}), { first: 1, second: 2 }, { name: "first", meant: undefined }],
    [object({}), {}, undefined],
    [{ type: "object" }, { any: 1 }, undefined],
  ])(
    "differs from a missing one only by case, _ or -, or is any where there is none: %j, %j",
    (schema, args, misnamed) => {
      expect(misnamedArgument(schema, args)).toEqual(misnamed);
    },
  );
});
