import { describe, expect, it } from "vitest";
import { inferInput, inferOutput } from "../../project/programs/save-program.ts";

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
  ];
  it.each(cases)("%s", (_, value, schema) => {
    expect(inferOutput(value)).toEqual(schema);
  });
});
