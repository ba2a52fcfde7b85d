import { expect, it } from "vitest";
import { withoutNulls } from "../../../catalog/arguments.ts";

const object = (properties: object, required: string[] = []) => ({ type: "object", properties, required });

it.each<[what: string, schema: unknown, args: unknown, left: unknown]>([
  [
    "a text that is null",
    object({ a: { type: "string" }, b: { type: "number" } }),
    { a: null, b: 1 },
    { b: 1 },
  ],
  ["a choice that is null", object({ a: { enum: ["x"] } }), { a: null }, {}],
])("leaves out %s", (_, schema, args, left) => {
  expect(withoutNulls(schema, args)).toEqual(left);
});

it.each<[what: string, schema: unknown, args: unknown]>([
  ["that is required", object({ a: { type: "string" } }, ["a"]), { a: null }],
  ["that may be null", object({ a: { type: ["string", "null"] } }), { a: null }],
  ["that may be null by its choices", object({ a: { enum: ["x", null] } }), { a: null }],
  ["of any type", object({ a: {} }), { a: null }],
  ["that the schema does not name", object({}), { a: null }],
  ["of what is no object", object({ a: { type: "string" } }), [null]],
])("keeps null %s", (_, schema, args) => {
  expect(withoutNulls(schema, args)).toEqual(args);
});
