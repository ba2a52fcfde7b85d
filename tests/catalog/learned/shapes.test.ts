import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addObserved,
  isNewerState,
  type LearnedState,
  parseState,
  renderState,
  schemaOfShape,
  shapeToJson,
  typesOf,
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

const OF = { server: "docs", tool: "list", definition: `sha256:${"0".repeat(64)}` };

/** A name of letters for a number. */
const lettersOf = (i: number) => `k${String(i).replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "")}`;

/** A value within lists, one for each level. */
const nested = (levels: number, value: unknown): unknown =>
  levels === 0 ? value : [nested(levels - 1, value)];

const nestedShape = (levels: number): object =>
  levels === 0 ? { seen: 0 } : { seen: 0, items: nestedShape(levels - 1) };

const UNKNOWN = "quux fnord blorp zibble wibble plugh xyzzy thud grault garply waldo corge".split(" ");
const KNOWN = "id title size state url owner count date price type width height".split(" ");
const times = (count: number, object: object) => Array.from({ length: count }, () => object);
const some = (names: string[], toValue: (i: number) => unknown) => (count: number) =>
  Object.fromEntries(names.slice(0, count).map((name, i) => [name, toValue(i)]));
/** Objects with usual names of members, and with names that are none. */
const known = some(KNOWN, (i) => i);
const ints = some(UNKNOWN, (i) => i);
const mixed = some(UNKNOWN, (i) => (i % 2 === 0 ? i : "x"));

/** Objects of which each name is in some, and each has one. */
function spread(names: number, objects: number, each: number, valuesOf: (count: number) => object): object[] {
  const entries = Object.entries(valuesOf(names));
  return Array.from({ length: objects }, (_, at) =>
    Object.fromEntries(
      entries.filter((_entry, i) => (at + objects - Math.floor((i * objects) / names)) % objects < each),
    ),
  );
}

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
    const deep = nested(11, 1);
    const many = Object.fromEntries(Array.from({ length: 121 }, (_, i) => [lettersOf(i), i]));
    const read = (observed: LearnedState["observed"]) =>
      parseState(Buffer.from(renderState({ position: 3, observed })));
    fc.assert(
      fc.property(values, values, (value, other) => {
        const one = addObserved(new Map(), OF, observeShape(value, new Set(["open"])));
        const both = addObserved(one, { ...OF, tool: "get" }, observe(other, value));
        expect(read(one)).toEqual({ position: 3, observed: one });
        expect(read(both)).toEqual({ position: 3, observed: both });
      }),
      { examples: [deep, many, "open", [true, null, 1.5, 2, "x"]].map((value) => [value, { a: value }]) },
    );
  });

  it("is kept of the thousand tools that were called most", () => {
    let observed: LearnedState["observed"] = new Map();
    const call = (tool: string) => {
      observed = addObserved(observed, { ...OF, tool }, observe(1));
    };
    for (let i = 0; i < 1_001; i++) call(`tool-${i}`);
    for (let i = 0; i < 1_001; i++) if (i !== 7) call(`tool-${i}`);
    const state = parseState(Buffer.from(renderState({ position: 1, observed })));
    const kept = [...(state?.observed.values() ?? [])];
    expect(kept).toHaveLength(1_000);
    expect(kept.map(({ tool }) => tool)).not.toContain("tool-7");
  });

  it("is the type of a tool unless it could be anything", () => {
    const of = (tool: string, value: unknown) => ({ ...OF, tool, calls: 2, shape: observe(value) });
    const types = typesOf([of("list", [1]), of("none", null), of("get", true)]);
    expect([...types.values()]).toEqual([
      { ...OF, tool: "list", calls: 2, schema: { type: "array", items: { type: "integer" } } },
      { ...OF, tool: "get", calls: 2, schema: { type: "boolean" } },
    ]);
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
    expect(learned(undefined, 1)).toEqual({ anyOf: [{ type: "integer" }, { type: "null" }] });
    expect(learned([], [null])).toEqual({ type: "array" });
    expect(JSON.stringify(learned({ size: 1, id: 2 }))).toBe(JSON.stringify(learned({ id: 1, size: 2 })));
    expect(learned([1, 2], { a: 1 })).toMatchObject({ anyOf: [{ type: "array" }, { type: "object" }] });
  });

  it.each([
    ["2026-01-02T03:04:05.123Z", "date-time"],
    ["2026-01-02T03:04:05.123456789-01:30", "date-time"],
    ["2026-01-02 03:04:05+0130", "date-time"],
    ["2026-01-02 03:04", "date-time"],
    ["2026-01-02", "date"],
    ["https://example.org/x?y=1", "uri"],
    ["http://x", "uri"],
    [`https://${"x".repeat(2_000)}`, "uri"],
    ["a@example.org", "email"],
    [`${"a".repeat(64)}@${"b".repeat(255)}.${"c".repeat(24)}`, "email"],
    ["a@b.co", "email"],
    ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "uuid"],
    ["6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "uuid"],
    ['{"text":"that is JSON"}', "json"],
    [" [1,\n2] ", "json"],
    [`[${" ".repeat(2_046)}]`, "json"],
    ["{}\n", "json"],
  ])("is the format that all texts have: %s", (text, format) => {
    expect(learned(text, text)).toEqual({ type: "string", format });
    expect(learned(text, "another")).toEqual({ type: "string" });
  });

  it.each(["2026-01-02T03:04:05.123456789+01:30", "2026-01-02", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"])(
    "is no format where one character is another, or more come before or behind: %s",
    (text) => {
      const others = [...text].map((_, i) => `${text.slice(0, i)}x${text.slice(i + 1)}`);
      // A time may follow a date in two ways.
      for (const other of [...others, `${text}0`, `0${text}`, ` ${text}`, `${text}\n`])
        expect([other, learned(other)]).toEqual([other, { type: "string" }]);
    },
  );

  it.each([
    "2026-01-02T03:04:05.Z",
    "2026-01-02T03:04:05.1234567890Z",
    "2026-01-02T03:04:",
    "2026-01-02T03",
    "2026-01-02T03:04 01:00",
    "ftp://example.org",
    "https:/example.org",
    "https://",
    "https://example.org/a b",
    "see https://example.org",
    `https://${"x".repeat(2_001)}`,
    "a@example",
    "@example.org",
    "a b@example.org",
    "a@b@example.org",
    "<a@example.org>",
    "a@example.org, b@example.org",
    "a@exa mple.org",
    "a@exa<mple.org",
    "a@example.o",
    "a@example.1x",
    "a@example.x1",
    `a@example.${"c".repeat(25)}`,
    `${"a".repeat(65)}@example.org`,
    `a@${"b".repeat(256)}.org`,
    "a@.org",
    "{}x",
    "x{}",
    "{]",
    "[}",
    "{a}",
    "[1,]",
    "1",
    '"text"',
    "null",
    `[${" ".repeat(2_047)}]`,
  ])("is no format of other texts: %s", (text) => {
    expect(learned(text)).toEqual({ type: "string" });
  });

  it("is of the first thousand members and of two hundred elements from everywhere in a list", () => {
    const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [i, i]));
    for (const [count, seen] of [
      [1_000, 1_000],
      [1_001, 1_000],
    ] as const)
      expect(shapeToJson(observe(numbered(count))).object?.rest?.seen).toBe(seen);
    const listed = (count: number, at: number) =>
      shapeToJson(observe(Array.from({ length: count }, (_, i) => (i === at ? "x" : i)))).items;
    for (const [count, at, string] of [
      [200, 199, { format: "plain" }],
      [201, 200, undefined],
      [400, 0, { format: "plain" }],
      [400, 398, { format: "plain" }],
      [400, 399, undefined],
    ] as const)
      expect([count, at, listed(count, at)]).toEqual([count, at, { seen: 200, number: "integer", string }]);
  });

  it("is of the first 20,000 values, and of the first ten levels", () => {
    const rows = Array.from({ length: 150 }, () => Array(200).fill(1));
    const { items } = shapeToJson(observe(rows));
    expect(1 + (items?.seen ?? 0) + (items?.items?.seen ?? 0)).toBe(20_000);
    const tables = Array.from({ length: 30 }, () =>
      Object.fromEntries(rows[0]?.map((_, i) => [i, [1, 1, 1]]) ?? []),
    );
    const { items: objects } = shapeToJson(observe(tables));
    const rest = objects?.object?.rest;
    expect(1 + (objects?.seen ?? 0) + (rest?.seen ?? 0) + (rest?.items?.seen ?? 0)).toBe(20_000);
    expect(JSON.stringify(learned(nested(10, 1)))).toContain("integer");
    expect(JSON.stringify(learned(nested(10, [1])))).not.toContain("integer");
    let deep: unknown = 1;
    for (let level = 0; level < 20; level++) deep = { title: deep };
    expect(countPlaces(observe(deep))).toBe(11);
    // What is any stays so, whatever else is there.
    expect(learned(nested(10, [1]), nested(10, 1))).toEqual(learned(nested(10, {})));
  });

  it("loses its deepest levels where it has too many places", () => {
    const value = { title: { size: { count: 1 }, url: [[1]] }, "2026-01-02": { "2026-01-03": 1 } };
    const shape = observe(value);
    expect(countPlaces(shape)).toBe(9);
    expect(boundShape(shape, 9)).toBe(shape);
    const integer = { type: "integer" };
    const object = (properties: object) => ({ type: "object", properties });
    const ofDates = (additionalProperties: object) => ({ additionalProperties });
    const size = object({ count: integer });
    const days = { type: "object", ...ofDates(integer) };
    const list = { type: "array" };
    for (const [most, places, schema] of [
      [8, 8, { ...object({ title: object({ size, url: list }) }), ...ofDates(days) }],
      [7, 6, { ...object({ title: object({ size: {}, url: {} }) }), ...ofDates(days) }],
      [5, 3, { ...object({ title: {} }), ...ofDates({}) }],
      [2, 1, {}],
    ] as const) {
      const bounded = boundShape(shape, most);
      expect([most, countPlaces(bounded), schemaOfShape(bounded)]).toEqual([most, places, schema]);
      expect(bounded.seen).toBe(1);
    }
    expect(schemaOfShape(mergeShapes(boundShape(shape, 2), shape))).toEqual({});
  });
});

describe("a state that was written", () => {
  const read = (shape: object, tool: object = {}) =>
    parseState(
      Buffer.from(
        JSON.stringify({
          version: 1,
          position: 7,
          tools: [{ ...OF, calls: 1, shape, ...tool }],
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
    ["256 levels", nestedShape(252)],
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
    ["257 levels", nestedShape(253)],
    ["a negative count", { seen: -1 }],
    ["no calls", { seen: 0 }, { calls: 0 }],
    ["a digest that is none", { seen: 0 }, { definition: "x" }],
  ])("is not read with %s", (_name, shape, tool) => {
    expect(read(shape, tool)).toBeUndefined();
  });
});

it.each([
  ['{"version":2}', true],
  ['{"version":1}', false],
  ['{"version":"2"}', false],
  ["[2]", false],
  ["null", false],
  ["{", false],
])("a state is of a newer ptc by its version: %s", (text, isNewer) => {
  expect(isNewerState(Buffer.from(text))).toBe(isNewer);
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

  it("are told when there are more of them after more values, and only as many as a person reads", () => {
    const said = (count: number, seen: number) => {
      const names = Array.from({ length: count }, (_, i) => `state_${lettersOf(i)}`);
      return schemaOfShape(
        Array.from({ length: seen }, (_, i) => observeShape(names[i % count], new Set(names))).reduce(
          mergeShapes,
        ),
      ).enum as string[] | undefined;
    };
    expect([said(1, 100), said(2, 20)?.length, said(5, 24), said(5, 25)?.length]).toEqual([
      undefined,
      2,
      undefined,
      5,
    ]);
    expect([said(24, 200)?.length, said(25, 200)]).toEqual([24, undefined]);
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

  it.each<[string, "map" | "open" | "members", object[]]>([
    // Values of several kinds.
    ["one object without a usual name", "open", [mixed(2)]],
    ["two of them", "open", times(2, mixed(2))],
    ["three of them", "members", times(3, mixed(2))],
    ["one with a usual name", "members", [{ ...mixed(2), title: 1 }]],
    ["twelve names that are rare in ten objects", "open", spread(12, 10, 3, mixed)],
    ["the same in nine", "members", spread(12, 9, 3, mixed)],
    ["eleven such names", "members", spread(11, 10, 3, mixed)],
    ["twelve names, each in a third of the objects", "open", spread(12, 12, 4, mixed)],
    ["twelve names in more of them", "members", spread(12, 12, 5, mixed)],
    ["a kind beside null alone", "map", [{ quux: 1, fnord: null }]],
    ["null alone", "open", [{ quux: null, fnord: null }]],
    ["a number beside a text", "open", [{ quux: 1, fnord: "x" }]],
    ["a number beside yes or no", "open", [{ quux: 1, fnord: true }]],
    ["a number beside a list", "open", [{ quux: 1, fnord: [] }]],
    ["a number beside an object", "open", [{ quux: 1, fnord: {} }]],
    ["another kind under names that are data", "open", [{ quux: 1, "2026-01-02": "x" }]],
    ["the same kind under names that are data", "map", [{ quux: 1, "2026-01-02": 2 }]],
    ["objects that share half of their names", "map", [{ quux: { id: 1 }, fnord: { size: 1 } }]],
    ["objects that share less", "open", [{ quux: { id: 1 }, fnord: { size: 1, title: 1 } }]],
    // Values of one kind.
    ["no known names in nine objects", "map", times(9, { quux: 1, fnord: 2 })],
    ["the same in ten", "members", times(10, { quux: 1, fnord: 2 })],
    ["ten of which some have no such name", "map", [...times(9, { quux: 1 }), ...times(5, { fnord: 1 })]],
    ["two thirds of which have each", "members", spread(3, 12, 8, ints)],
    ["fewer of which have each", "map", spread(3, 12, 7, ints)],
    ["half of the names known", "map", times(9, { title: 1, quux: 2 })],
    ["more than half known", "members", times(9, { title: 1, size: 2, quux: 3 })],
    ["twelve names in two objects, a few of them unknown", "map", times(2, { ...known(9), ...ints(3) })],
    ["the same in three", "members", times(3, { ...known(9), ...ints(3) })],
    ["eleven of them", "members", [{ ...known(8), ...ints(3) }]],
    ["four fifths of them known", "members", [{ ...known(12), ...ints(3) }]],
    [
      "four names of objects, most of them known",
      "map",
      [{ title: { id: 1 }, size: { id: 1 }, url: { id: 1 }, quux: { id: 1 } }],
    ],
    [
      "four names, one of null alone",
      "map",
      [{ title: { id: 1 }, size: { id: 1 }, url: { id: 1 }, quux: null }],
    ],
    ["three of them", "members", [{ title: { id: 1 }, size: { id: 1 }, quux: { id: 1 } }]],
    [
      "four known names, each in a third of the objects",
      "map",
      [{ title: 1, size: 1 }, { url: 1 }, { state: 1 }],
    ],
    [
      "four known names in more of them",
      "members",
      [{ title: 1, size: 1 }, { url: 1, size: 1 }, { state: 1 }],
    ],
    ["three known names", "members", [{ title: 1 }, { url: 1 }, { state: 1 }]],
  ])("or none, as their names and values say: %s", (_, kind, objects) => {
    const schema = learned(...objects);
    const isOpen = JSON.stringify(schema.additionalProperties) === "{}";
    expect(schema.properties ? "members" : isOpen ? "open" : "map").toBe(kind);
  });

  it.each([
    ["EUR USD", true],
    ["EU ABCDE", true],
    ["EU ABCDEF", false],
    ["E F", false],
    ["de fr", true],
    ["d f", false],
    ["dex fra", false],
    ["d1 f1", false],
    ["pt-BR en-US", true],
    ["pt-B en-U", false],
    ["pt-br en-us", false],
    ["pt-BRA en-USA", false],
    ["EUR Usd", false],
    ["de xde", false],
    ["de", false],
    ["id to", false],
    ["id de", false],
    ["id de fr", true],
    ["id to de fr", false],
  ])("are recognised by names that are codes, even if all objects have them: %s", (names, isMap) => {
    const object = Object.fromEntries(names.split(" ").map((name) => [name, 1]));
    expect(learned(...times(10, object)).properties === undefined).toBe(isMap);
  });

  it("are all with thousands of names, whose names are not kept", () => {
    const numbered = (count: number, from = 0) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [lettersOf(from + i), i]));
    expect(shapeToJson(observe(numbered(120))).object?.members).toHaveLength(120);
    expect(shapeToJson(observe(numbered(121))).object).toMatchObject({
      members: [],
      map: true,
      rest: { seen: 121 },
    });
    expect(shapeToJson(observe(numbered(60), numbered(61, 60))).object?.members).toEqual([]);
    const many = numbered(5_000);
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
