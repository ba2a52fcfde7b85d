import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkAgainstSchema } from "../../../broker/schemas/schema-check.ts";
import { inferInput, inferOutput } from "../../../catalog/learned/example-schema.ts";
import { schemaOfShape } from "../../../catalog/learned/learned-state.ts";
import { observeShape } from "../../../catalog/learned/shape.ts";

describe("the schema of a saved program's data", () => {
  it("has every member of the recorded data, and no other", () => {
    expect(inferInput({ month: "2026-05", limit: 3, labels: ["a"], all: false })).toEqual({
      type: "object",
      properties: {
        month: { type: "string" },
        limit: { type: "integer" },
        labels: { type: "array", items: { type: "string" } },
        all: { type: "boolean" },
      },
      required: ["month", "limit", "labels", "all"],
      additionalProperties: false,
    });
  });

  it("takes no arguments where there were none", () => {
    expect(inferInput({})).toEqual({ type: "object", properties: {}, additionalProperties: false });
  });
});

describe("the schema of a saved program's value", () => {
  const cases: [string, unknown, unknown][] = [
    ["does not take numbers to be whole for ever", 3, { type: "number" }],
    ["says nothing of null", null, {}],
    ["says nothing of the items of an empty list", [], { type: "array" }],
    [
      "merges the items of a list: what some lack is optional",
      [{ id: 1, name: "a" }, { id: 2 }],
      {
        type: "array",
        items: {
          type: "object",
          properties: { id: { type: "number" }, name: { type: "string" } },
          required: ["id"],
        },
      },
    ],
    [
      "allows null beside what else an item was",
      ["a", null],
      { type: "array", items: { type: ["string", "null"] } },
    ],
    ["says nothing of items of several kinds", ["a", 1], { type: "array" }],
    [
      "takes members whose names are data for a map, so that none of them is in the schema",
      { byId: { "2026-05-01": 1, "2026-05-02": 2 } },
      {
        type: "object",
        properties: { byId: { type: "object", additionalProperties: { type: "number" } } },
        required: ["byId"],
      },
    ],
    [
      "keeps the names of members beside others whose names are data",
      { total: 2, "2026-05-01": 1, "2026-05-02": 2 },
      {
        type: "object",
        properties: { total: { type: "number" } },
        required: ["total"],
        additionalProperties: { type: "number" },
      },
    ],
    [
      "allows null where one of several objects had it",
      [{ at: "a" }, { at: null }],
      {
        type: "array",
        items: { type: "object", properties: { at: { type: ["string", "null"] } }, required: ["at"] },
      },
    ],
  ];
  it.each(cases)("%s", (_, value, schema) => {
    expect(inferOutput(value)).toEqual(schema);
  });
});

interface Place {
  type?: string | string[];
  anyOf?: Place[];
  items?: Place;
  properties?: Record<string, Place>;
  additionalProperties?: Place;
}

/** The kinds at each place of a schema. A whole number is a number, and null says nothing. */
function kindsIn(schema: Place, at = "$"): Map<string, string> {
  const kinds = schema.anyOf ?? [schema];
  const named = kinds
    .flatMap(({ type = [] }) => type)
    .filter((type) => type !== "null")
    .map((type) => (type === "integer" ? "number" : type));
  const found = new Map<string, string>(named.length === 0 ? [] : [[at, named.sort().join()]]);
  const add = (part: Place | undefined, place: string) => {
    for (const each of part === undefined ? [] : kindsIn(part, place)) found.set(...each);
  };
  for (const kind of kinds) {
    add(kind.items, `${at}[]`);
    for (const [name, member] of Object.entries(kind.properties ?? {})) add(member, `${at}.${name}`);
    add(kind.additionalProperties, `${at}{}`);
  }
  return found;
}

const NAMES = ["id", "title", "state", "count", "url", "2026-05-01", "ada@example.org", "quux"];
const anyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: "value" },
    fc.constantFrom(null, true, 1, 1.5, "a", "2026-05-01"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie("value"), { maxKeys: 4 }),
  ),
})).value;

describe("what is inferred for a saved program and what is learned of a tool's results", () => {
  // Which names a map has the other may name by themselves, so that values of a map may be others.
  it("agree on the kind at every place of which both say something, but in maps", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const learned = kindsIn(schemaOfShape(observeShape(value)) as Place);
        const inferred = kindsIn(inferOutput(value) as Place);
        for (const [place, kind] of inferred) {
          if (learned.has(place) && !place.includes("{}"))
            expect([place, learned.get(place)]).toEqual([place, kind]);
        }
        expect(inferred.get("$")).toBe(learned.get("$"));
      }),
    );
  });

  it("keep no name that is data", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        for (const schema of [schemaOfShape(observeShape(value)), inferOutput(value)])
          expect(JSON.stringify(schema)).not.toMatch(/2026-05-01|ada@example/);
      }),
    );
  });

  it("the value that it was inferred from fits", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(checkAgainstSchema(JSON.stringify(inferOutput(value)), value)).toBeUndefined();
      }),
    );
  });
});
