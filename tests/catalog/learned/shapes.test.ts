import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parseState,
  schemaOfShape,
  shapeFromJson,
  shapeToJson,
} from "../../../catalog/learned/learned-state.ts";
import {
  boundShape,
  countPlaces,
  isDataName,
  MAX_SHAPE_PLACES,
  mergeShapes,
  observeShape,
  type Shape,
} from "../../../catalog/learned/shape.ts";

const observe = (...values: unknown[]): Shape => values.map((each) => observeShape(each)).reduce(mergeShapes);
const learned = (...values: unknown[]) => schemaOfShape(observe(...values));

/** A shape without its counts: what a type is made of. */
function kindsIn(shape: Shape): unknown {
  return JSON.parse(JSON.stringify(shapeToJson(shape), (name, value) => (name === "seen" ? 0 : value)));
}

describe("what is learned of values", () => {
  const values = fc.jsonValue({ maxDepth: 4 });

  it("does not depend on their order, nor on how they come together", () => {
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        const [x, y, z] = [observe(a), observe(b), observe(c)];
        expect(shapeToJson(mergeShapes(x, y))).toEqual(shapeToJson(mergeShapes(y, x)));
        expect(shapeToJson(mergeShapes(mergeShapes(x, y), z))).toEqual(
          shapeToJson(mergeShapes(x, mergeShapes(y, z))),
        );
        expect(kindsIn(mergeShapes(x, x))).toEqual(kindsIn(x));
      }),
    );
  });

  it("is the same after it was written and read", () => {
    fc.assert(
      fc.property(values, (value) => {
        const shape = observe(value);
        const read = shapeFromJson(JSON.parse(JSON.stringify(shapeToJson(shape))));
        expect(read).toEqual(shape);
      }),
    );
  });

  it("holds no text, number or name of the data but names of members", () => {
    const value = {
      title: "hunter2",
      price: 41_571,
      "a@b.example": { "2026-01-02": "hunter3" },
      tags: ["hunter4"],
    };
    const kept = JSON.stringify([shapeToJson(observe(value)), learned(value)]);
    expect(kept).not.toMatch(/hunter|41571|a@b|2026/);
    expect(kept).toContain("title");
  });

  it("is wider with each value: missing members, unions, nulls, lists of several kinds", () => {
    expect(
      learned({ size: 1, owner: null, cells: [1, "x"] }, { size: 1.5, owner: "text", tags: [] }),
    ).toEqual({
      type: "object",
      properties: {
        cells: { type: "array", items: { anyOf: [{ type: "integer" }, { type: "string" }] } },
        owner: { anyOf: [{ type: "string" }, { type: "null" }] },
        size: { type: "number" },
        tags: { type: "array" },
      },
    });
    expect(learned({ owner: null })).toEqual({ type: "object", properties: { owner: {} } });
    expect(learned([1, 2], { a: 1 })).toMatchObject({ anyOf: [{ type: "array" }, { type: "object" }] });
  });

  it.each([
    ["2026-01-02T03:04:05.123Z", "date-time"],
    ["2026-01-02", "date"],
    ["https://example.org/x?y=1", "uri"],
    ["a@example.org", "email"],
    ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "uuid"],
    ['{"text":"that is JSON"}', "json"],
  ])("is the format that all texts have: %s", (text, format) => {
    expect(learned(text, text)).toEqual({ type: "string", format });
    expect(learned(text, "another")).toEqual({ type: "string" });
  });
});

describe("a state that was written", () => {
  const digest = `sha256:${"0".repeat(64)}`;
  const read = (shape: object, tool: object = {}) =>
    parseState(
      Buffer.from(
        JSON.stringify({
          version: 1,
          position: 7,
          tools: [{ server: "docs", tool: "list", definition: digest, calls: 1, shape, ...tool }],
        }),
      ),
    );
  const text = (format: string, choices?: string[]) => ({ seen: 1, string: { format, choices } });
  const members = (count: number) => ({
    seen: 1,
    object: { seen: 1, members: Array.from({ length: count }, (_, i) => [`m${i}`, { seen: 0 }]) },
  });

  it.each<[string, object, object?]>([
    ["a format of ptc", text("date-time")],
    ["the longest format", text("f".repeat(20))],
    ["the longest choice", text("plain", ["c".repeat(64)])],
    ["the most choices", text("plain", Array(24).fill("c"))],
    ["the most members", members(120)],
    ["a shape of nothing", { seen: 0 }],
  ])("is read with %s", (_name, shape, tool) => {
    expect(read(shape, tool)).toMatchObject({ position: 7, observed: { size: 1 } });
  });

  it.each<[string, object, object?]>([
    ["a format that is none", text("date time")],
    ["a format with something before it", text("*/date")],
    ["a format with something behind it", text("date*/")],
    ["a format in capitals", text("DATE")],
    ["no format", text("")],
    ["a long format", text("f".repeat(21))],
    ["a long choice", text("plain", ["c".repeat(65)])],
    ["too many choices", text("plain", Array(25).fill("c"))],
    ["too many members", members(121)],
    ["a long name of a member", { seen: 1, object: { seen: 1, members: [["m".repeat(65), { seen: 0 }]] } }],
    ["an unknown kind", { seen: 1, date: true }],
    ["a negative count", { seen: -1 }],
    ["no calls", { seen: 0 }, { calls: 0 }],
    ["a digest that is none", { seen: 0 }, { definition: "x" }],
  ])("is not read with %s", (_name, shape, tool) => {
    expect(read(shape, tool)).toBeUndefined();
  });
});

describe("choices", () => {
  const words = new Set(["open", "closed"]);
  const states = (count: number, ...more: string[]) =>
    schemaOfShape(
      [...Array.from({ length: count }, (_, i) => (i % 2 === 0 ? "open" : "closed")), ...more]
        .map((each) => observeShape(each, words))
        .reduce(mergeShapes),
    );

  it("are told when they were seen often, and all are words of the tool's own definition", () => {
    expect(states(20)).toEqual({ type: "string", enum: ["closed", "open"] });
  });

  it("are not told after few values, after one other value, or without a definition that names them", () => {
    expect(states(19)).toEqual({ type: "string" });
    expect(states(40, "hunter2")).toEqual({ type: "string" });
    expect(learned(...Array.from({ length: 100 }, (_, i) => (i % 2 ? "open" : "closed")))).toEqual({
      type: "string",
    });
  });
});

describe("names that are data", () => {
  it.each([
    "123",
    "2026-01-02",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "deadbeef01",
    "a@b.example",
    "/etc/passwd",
    "PROJ-7",
    "user-42",
    "order_1234",
    "some words",
    "example.com",
    "AbCdEfGhIjKlMnOpQr",
    "[REDACTED]",
    "x".repeat(65),
    "",
    "a\u202eb",
    "a\nb",
    "\ud800",
  ])("are not kept: %j", (name) => {
    expect(isDataName(name)).toBe(true);
    expect(learned({ [name]: 1 })).toEqual({ type: "object", additionalProperties: { type: "integer" } });
  });

  it.each([
    "id",
    "created_at",
    "htmlUrl",
    "$schema",
    "@type",
    "_links",
    "xml:lang",
    "content-type",
    "sha256",
    "line_2",
    "aws_s3_bucket",
    "maintainerCanModifyPullRequest",
    "title_de",
    "\u6807\u9898",
    "gr\u00f6\u00dfe",
    "__proto__",
    "constructor",
    "toString",
  ])("are told from names of members: %s", (name) => {
    expect(isDataName(name)).toBe(false);
    const schema = learned(...Array(10).fill(JSON.parse(`{${JSON.stringify(name)}: 1}`)));
    expect(Object.entries(schema.properties as object)).toEqual([[name, { type: "integer" }]]);
  });
});

describe("objects that are maps", () => {
  const ofUsers = {
    alice: { age: 1, city: "x" },
    bob: { age: 2, city: "y" },
    carol: { age: 3 },
    dave: { age: 4, city: "" },
  };

  it("are recognised by values of one kind under names that come and go", () => {
    const counts = [{ apple: 3, pear: 1 }, { plum: 2, fig: 1 }, { quince: 5 }, { lemon: 1 }];
    expect(learned(...counts)).toEqual({ type: "object", additionalProperties: { type: "integer" } });
    expect(learned({ users: ofUsers })).toMatchObject({
      properties: { users: { additionalProperties: { properties: { age: {}, city: {} } } } },
    });
    expect(learned({ rates: { EUR: 1.5, USD: 1 } })).toMatchObject({
      properties: { rates: { additionalProperties: { type: "number" } } },
    });
  });

  it("are none where the same names come again", () => {
    const sizes = { small: 1, medium: 2, large: 3, huge: 4 };
    expect(learned(sizes, sizes, sizes)).toMatchObject({
      properties: { small: {}, medium: {}, large: {}, huge: {} },
    });
    const spans = { start: { date: "a", zone: "b" }, end: { date: "c", zone: "d" } };
    expect(learned(spans)).toMatchObject({ properties: { start: {}, end: {} } });
    expect(learned({ id: 1, to: 2 })).toMatchObject({ properties: { id: {}, to: {} } });
  });

  it("are all with thousands of names, whose names are not kept", () => {
    const letters = (i: number) =>
      `k${String(i).replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "")}`;
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [letters(i), i]));
    expect(shapeToJson(observe(many)).object?.members).toEqual([]);
    expect(learned(many, { other: 1 })).toEqual({
      type: "object",
      additionalProperties: { type: "integer" },
    });
  });
});

describe("hostile values", () => {
  it("are looked at in bounds, however deep, long and wide they are", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(countPlaces(observe(deep))).toBeLessThan(20);
    const wide = Array.from({ length: 300_000 }, (_, i) => ({ id: i, list: [i], text: "x".repeat(10) }));
    expect(learned(wide)).toMatchObject({
      type: "array",
      items: { properties: { id: {}, list: {}, text: {} } },
    });
    const tree = (depth: number): unknown =>
      depth === 0
        ? 1
        : Object.fromEntries(
            "abcdefghi".split("").map((name, i) => [name, i % 2 ? tree(depth - 1) : [tree(depth - 1)]]),
          );
    expect(countPlaces(boundShape(observe(tree(4))))).toBeLessThanOrEqual(MAX_SHAPE_PLACES);
  });

  it("change nothing of what all objects have", () => {
    const schema = learned(
      JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}'),
    );
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(schema.properties)).toBe(Object.prototype);
    expect(JSON.stringify(schema)).toContain('"__proto__":{"type":"object"');
  });
});
