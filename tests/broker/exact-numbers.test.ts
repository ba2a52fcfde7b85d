import { expect, test } from "vitest";
import { writeJson } from "../../base/json.ts";
import { roundedProblem, withExactNumbers, withExactNumbersInTurns } from "../../broker/exact-numbers.ts";

const BIG = "1234567890123456789";
const TEXT = `"${BIG}"`;

test.each<[string, object, string, string]>([
  ["an integer", { properties: { id: { type: "integer" } } }, `{"id":${TEXT}}`, `{"id":${BIG}}`],
  ["a number", { properties: { id: { type: "number" } } }, `{"id":${TEXT}}`, `{"id":${BIG}}`],
  [
    "a nullable one",
    { properties: { id: { type: ["integer", "null"] } } },
    `{"id":${TEXT}}`,
    `{"id":${BIG}}`,
  ],
  [
    "an alternative",
    { properties: { id: { anyOf: [{ type: "integer" }, { type: "null" }] } } },
    `{"id":${TEXT}}`,
    `{"id":${BIG}}`,
  ],
  [
    "items",
    { properties: { ids: { type: "array", items: { type: "integer" } } } },
    `{"ids":[1,${TEXT}]}`,
    `{"ids":[1,${BIG}]}`,
  ],
  [
    "a place of a tuple",
    { properties: { t: { prefixItems: [{ type: "string" }, { type: "integer" }] } } },
    `{"t":[${TEXT},${TEXT}]}`,
    `{"t":[${TEXT},${BIG}]}`,
  ],
  ["further members", { additionalProperties: { type: "integer" } }, `{"a":${TEXT}}`, `{"a":${BIG}}`],
  [
    "a reference",
    { properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { properties: { id: { type: "integer" } } } } },
    `{"a":{"id":${TEXT}}}`,
    `{"a":{"id":${BIG}}}`,
  ],
  ["allOf", { allOf: [{ properties: { id: { type: "integer" } } }] }, `{"id":${TEXT}}`, `{"id":${BIG}}`],
  [
    "an enum of numbers",
    { properties: { id: { enum: [1234567890123456789n] } } },
    `{"id":${TEXT}}`,
    `{"id":${BIG}}`,
  ],
  ["a text", { properties: { id: { type: "string" } } }, `{"id":${TEXT}}`, `{"id":${TEXT}}`],
  [
    "a number or a text",
    { properties: { id: { type: ["integer", "string"] } } },
    `{"id":${TEXT}}`,
    `{"id":${TEXT}}`,
  ],
  [
    "a number or anything",
    { properties: { id: { anyOf: [{ type: "integer" }, {}] } } },
    `{"id":${TEXT}}`,
    `{"id":${TEXT}}`,
  ],
  ["anything", { properties: { id: {} } }, `{"id":${TEXT}}`, `{"id":${TEXT}}`],
  ["a small number as text", { properties: { id: { type: "integer" } } }, '{"id":"42"}', '{"id":"42"}'],
  [
    "digits that are no number of JSON",
    { properties: { id: { type: "integer" } } },
    '{"id":"01234567890123456789"}',
    '{"id":"01234567890123456789"}',
  ],
  ["a reference to itself", { $ref: "#" }, `{"id":${TEXT}}`, `{"id":${TEXT}}`],
])("the text of a whole number beyond 2^53 in the place of %s", (_, schema, args, sent) => {
  expect(writeJson(withExactNumbers(schema, JSON.parse(args)))).toBe(sent);
});

test.each<[string, object]>([
  ["members", Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i]))],
  ["items", Array.from({ length: 20_000 }, (_, i) => ({ i }))],
])("the text of a whole number beyond 2^53 is found behind many %s", async (_, many) => {
  const schema = { properties: { id: { type: "integer" } } };
  const exact = await withExactNumbersInTurns(schema, { many, id: BIG });
  expect(exact).toEqual({ many, id: BigInt(BIG) });
  expect(await withExactNumbersInTurns(schema, { many })).toEqual({ many });
});

test.each<[string, object, string[], string | undefined]>([
  ["an integer", { properties: { id: { type: "integer" } } }, ["/id"], ".id"],
  ["an item", { properties: { id: { items: { type: "integer" } } } }, ["/id/1"], ".id[1]"],
  ["a number", { properties: { id: { type: "number" } } }, ["/id"], undefined],
  ["anything", {}, ["/id"], undefined],
  [
    "the second of two",
    { properties: { size: { type: "number" }, "a/b": { type: "integer" } } },
    ["/size", "/a~1b"],
    ".a/b",
  ],
])(
  "a number beyond 2^53 that JavaScript held is refused in the place of %s: %j",
  (_, schema, rounded, place) => {
    const args = { id: rounded[0] === "/id/1" ? [0, 1e18] : 1e18, size: 1e18, "a/b": 1e18 };
    expect(roundedProblem(schema, args, rounded)?.place).toBe(place);
  },
);
