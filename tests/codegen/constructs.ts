const str = { type: "string" };
const num = { type: "number" };
const object = (properties: object, more: object = {}) => ({
  type: "object",
  properties,
  additionalProperties: false,
  ...more,
});
const holding = (schema: unknown) => object({ a: schema }, { required: ["a"] });
const draft07 = { $schema: "http://json-schema.org/draft-07/schema#" };

/** One schema for each construct. */
export const CONSTRUCTS: Record<string, object> = {
  "a named type": {
    ...holding({ $ref: "#/$defs/x" }),
    $defs: { x: object({ s: str }, { required: ["s"] }) },
  },
  "a named type of draft-07": {
    ...draft07,
    ...holding({ $ref: "#/definitions/x" }),
    definitions: { x: object({ s: str }, { required: ["s"] }) },
  },
  "a recursive type": {
    ...holding({ $ref: "#/$defs/tree" }),
    $defs: {
      tree: object({ v: num, c: { type: "array", items: { $ref: "#/$defs/tree" } } }, { required: ["v"] }),
    },
  },
  "a pointer into a property": object({ a: object({ b: str }), c: { $ref: "#/properties/a" } }),
  anyOf: holding({ anyOf: [str, { type: "array", items: num }] }),
  "anyOf of objects": holding({
    anyOf: [object({ b: str }, { required: ["b"] }), object({ n: num }, { required: ["n"] })],
  }),
  oneOf: holding({
    oneOf: [
      object({ k: { const: "x" }, x: num }, { required: ["k", "x"] }),
      object({ k: { const: "y" }, y: str }, { required: ["k"] }),
    ],
  }),
  allOf: {
    type: "object",
    allOf: [
      { type: "object", properties: { a: str }, required: ["a"] },
      { type: "object", properties: { b: num }, required: ["b"] },
    ],
  },
  "an array of alternatives": holding({ type: "array", items: { type: ["string", "number"] } }),
  "an array of objects of two kinds": holding({
    type: "array",
    items: { anyOf: [object({ a: str }, { required: ["a"] }), num] },
  }),
  "a tuple": holding({ type: "array", prefixItems: [str, num], items: false, minItems: 2 }),
  "a tuple that may be shorter": holding({
    type: "array",
    prefixItems: [str, num],
    items: false,
    minItems: 1,
  }),
  "a tuple of draft-07": {
    ...draft07,
    ...holding({ type: "array", items: [str, num], additionalItems: { type: "boolean" }, minItems: 2 }),
  },
  const: holding({ const: "only" }),
  "an object as const": holding({ const: { a: 1, b: ["x"] } }),
  enum: holding({ enum: ["a", 1, null, true] }),
  "an enum of one type": holding({ type: "string", enum: ["a", "b"] }),
  "a list of types": holding({ type: ["string", "null"] }),
  "a list of types with object and array": holding({
    type: ["object", "array", "null"],
    properties: { x: str },
    additionalProperties: false,
    items: num,
  }),
  "a map": holding({ type: "object", additionalProperties: num }),
  "patterns of names": holding({
    type: "object",
    patternProperties: { "^x": num },
    additionalProperties: false,
  }),
  "properties and others": object({ a: str }, { additionalProperties: true, required: ["a"] }),
  "no type": { properties: { a: { properties: { b: str }, required: ["b"] } }, required: ["a"] },
  "items without a type": holding({ items: str }),
  true: holding(true),
  false: object({ a: str, never: false }),
  "names that are no identifiers": object({
    "If-Match": str,
    "StartTime<": num,
    "StartTime>": { type: "boolean" },
    "{{userId}}": str,
  }),
  "what stands beside a $ref": {
    ...holding({ $ref: "#/$defs/x", type: "object", properties: { n: num }, required: ["n"] }),
    $defs: { x: { type: "object", properties: { s: str }, required: ["s"] } },
  },
  "an anchor": { ...holding({ $ref: "#x" }), $defs: { any: { $anchor: "x", ...object({ s: str }) } } },
  "definitions within a property": object({
    a: { type: "object", definitions: { x: { enum: ["p", "q"] } }, properties: { s: str } },
    b: { $ref: "#/properties/a/definitions/x" },
  }),
  "a chain of references": {
    ...holding({ $ref: "#/$defs/a" }),
    $defs: {
      a: { $ref: "#/$defs/b~1c" },
      "b/c": { type: "array", items: { anyOf: [{ $ref: "#/$defs/a" }, { type: "null" }] } },
    },
  },
  "a reference in allOf": {
    ...holding({ allOf: [{ $ref: "#/$defs/x" }, { type: "object", properties: { n: num } }] }),
    $defs: { x: { type: "object", properties: { s: str }, required: ["s"] } },
  },
  "one of several required properties": {
    type: "object",
    properties: { a: str, b: num },
    anyOf: [{ required: ["a"] }, { required: ["b"] }],
  },
  "an enum of everything": holding({ enum: ["a", 1, null, true, { k: [1, "x"] }, [], "\u2028"] }),
  "nullable, of OpenAPI": holding({ type: "string", nullable: true, enum: ["a"] }),
  "nullable beside a $ref": {
    ...holding({ $ref: "#/$defs/x", nullable: true }),
    $defs: { x: object({ s: str }) },
  },
  "required, of draft 3": object({ a: { type: "string", required: true }, b: { ...num, required: false } }),
  "limits of draft 4": holding({ type: "number", minimum: 0, exclusiveMinimum: true }),
  "a tuple of draft-07 without $schema": holding({
    type: "array",
    items: [str, num],
    additionalItems: false,
    minItems: 2,
  }),
  "a schema beside one that is none": object({ a: { type: "file" }, b: num }, { required: ["b"] }),
  "a condition with then": object(
    { kind: { enum: ["a", "b"] }, only: num },
    {
      additionalProperties: true,
      required: ["kind"],
      if: { properties: { kind: { const: "a" } }, required: ["kind"] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ["only"] },
    },
  ),
  "a condition with then and else, of properties of their own": {
    type: "object",
    properties: { kind: { type: "string", enum: ["a", "b", "c"] } },
    required: ["kind"],
    if: { properties: { kind: { const: "a" } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { x: num }, required: ["x"] },
    else: { properties: { y: str }, required: ["y"] },
  },
  "a condition in allOf": {
    type: "object",
    properties: { kind: { enum: ["a", "b"] } },
    required: ["kind"],
    allOf: [
      {
        if: { properties: { kind: { const: "b" } }, required: ["kind"] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { properties: { z: num }, required: ["z"] },
      },
    ],
  },
};
