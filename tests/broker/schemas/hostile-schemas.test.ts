import { afterAll, describe, expect, it } from "vitest";
import { checkAgainstSchema } from "../../../broker/schemas/schema-check.ts";
import { costOfSchema, isCheap } from "../../../broker/schemas/schema-cost.ts";
import { describeProblem, type SchemaProblem } from "../../../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../../../broker/schemas/schema-validator.ts";
import { eventually } from "../../eventually.ts";
import { heldBytes } from "../../fuzz/host-load.ts";

/** Short, because most of these schemas take any time that they are given. */
const BOUNDS = { compileMs: 500, checkMs: 250 };
const validator = new IsolatingValidator(undefined, BOUNDS);
afterAll(() => validator.close());

const MAX_DELAY_MS = 250;
const TRIES = 4;

function list<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}

function byName(length: number, make: (index: number) => [string, unknown]): object {
  return Object.fromEntries(list(length, make));
}

function nested(levels: number, wrap: (inner: unknown) => unknown, core: unknown): unknown {
  let value = core;
  for (let i = 0; i < levels; i++) value = wrap(value);
  return value;
}

/** Each definition refers to the next one twice. */
function doubling(levels: number): object {
  const next = (i: number) => ({ $ref: `#/$defs/d${i + 1}` });
  const $defs = byName(levels, (i) => [
    `d${i}`,
    i === levels - 1 ? { type: "string" } : { allOf: [next(i), next(i)] },
  ]);
  return { $ref: "#/$defs/d0", $defs };
}

const tree = {
  $ref: "#/$defs/t",
  $defs: {
    t: {
      properties: { l: { $ref: "#/$defs/t" }, r: { $ref: "#/$defs/t" } },
      anyOf: [{ $ref: "#/$defs/u" }, {}],
    },
    u: { properties: { l: { $ref: "#/$defs/t" } } },
  },
};

const HOSTILE: [name: string, schema: () => unknown, value: () => unknown][] = [
  ["a pattern that backtracks", () => ({ pattern: "^(a+)+$" }), () => `${"a".repeat(40)}!`],
  [
    "1,401 alternatives for 300,000 empty arrays",
    () => ({
      items: { anyOf: list(1_401, (i) => ({ type: "object", properties: { [`a${i}`]: { const: i } } })) },
    }),
    () => list(300_000, () => []),
  ],
  [
    "a few alternatives for 300,000 empty arrays",
    () => ({ items: { anyOf: [...list(40, () => ({ type: "string" })), {}] } }),
    () => list(300_000, () => []),
  ],
  [
    "lengths of long strings, many times",
    () => ({ items: { anyOf: [...list(40, (i) => ({ minLength: 50_000 + i })), {}] } }),
    () => list(1_500, () => "x".repeat(40_000)),
  ],
  [
    "a pattern for long strings",
    () => ({ items: { pattern: "^(x|x)*$" } }),
    () => list(1_500, () => `${"x".repeat(40_000)}y`),
  ],
  ["objects that must differ", () => ({ uniqueItems: true }), () => list(100_000, (a) => ({ a }))],
  ["a tree of references", () => tree, () => nested(100, (inner) => ({ l: inner, r: {} }), {})],
  ["references that double", () => doubling(25), () => "x"],
  ["references that double, and nest", () => doubling(60), () => 1],
  ["an enum of 50,000", () => ({ enum: list(50_000, (i) => `v${i}`) }), () => "w"],
  [
    "patterns for the names of 50,000 members",
    () => ({ patternProperties: byName(300, (i) => [`^(a|b|${i}+)+$`, { type: "string" }]) }),
    () => byName(50_000, (i) => [`k${i}`, i]),
  ],
  [
    "names that make a pattern backtrack",
    () => ({ propertyNames: { pattern: "^(a+)+$" } }),
    () => byName(100, (i) => [`${"a".repeat(40)}${i}!`, i]),
  ],
  [
    "schemas that depend on names",
    () => ({ dependentSchemas: byName(500, (i) => [`k${i}`, { required: [`z${i}`] }]) }),
    () => byName(500, (i) => [`q${i}`, i]),
  ],
  [
    "members that nothing evaluates",
    () => ({
      anyOf: list(50, (i) => ({ properties: { [`a${i}`]: {} } })),
      unevaluatedProperties: { type: "string" },
    }),
    () => byName(20_000, (i) => [`a${i}`, "x"]),
  ],
  [
    "items to count under many schemas",
    () => ({ contains: { anyOf: list(400, (i) => ({ const: i })) }, minContains: 2 }),
    () => list(300_000, () => -1),
  ],
  [
    "a schema within 300 others",
    () => nested(300, (inner) => ({ allOf: [inner, { minLength: 1 }] }), { type: "string" }),
    () => "x",
  ],
  [
    "20,000 properties",
    () => ({ properties: byName(20_000, (i) => [`p${i}`, { type: "string" }]) }),
    () => ({ p1: 1 }),
  ],
  [
    "a megabyte of description",
    () => ({
      type: "string",
      description: "d".repeat(1_000_000),
      $defs: byName(20_000, (i) => [`d${i}`, {}]),
    }),
    () => 1,
  ],
  [
    "a string of 50 MB",
    () => ({ properties: { a: { pattern: "^x" } } }),
    () => ({ a: "x".repeat(50_000_000) }),
  ],
  [
    "anchors within anchors",
    () => nested(23, (x) => ({ $dynamicAnchor: "a", properties: { x } }), { type: "string" }),
    () => ({}),
  ],
  [
    "lengths of a long name, many times",
    () => ({ propertyNames: { allOf: list(60, (i) => ({ maxLength: 100_000_000 + i })) } }),
    () => ({ ["x".repeat(5_000_000)]: 1 }),
  ],
  [
    "a long name in what is wrong, many times",
    () => ({ additionalProperties: { anyOf: list(40, () => ({ type: "string" })) } }),
    () => ({ ["~/".repeat(100_000)]: 1 }),
  ],
  ["a large value of the wrong type", () => ({ type: "string" }), () => list(500_000, (i) => ({ i }))],
];

/** Time of the processor on this thread: what a busy machine does meanwhile does not count. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The longest that this thread worked at one thing while something was done. */
async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = cpuMs();
  const tick = () => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(tick, 5);
  await work();
  clearInterval(timer);
  tick();
  return longest;
}

describe("a server's schema never holds up this thread", () => {
  it.each(HOSTILE)(
    "%s",
    async (_name, makeSchema, makeValue) => {
      const schema = makeSchema();
      const value = makeValue();
      let blockedMs = Number.POSITIVE_INFINITY;
      for (let i = 0; i < TRIES && blockedMs > MAX_DELAY_MS; i++) {
        let problem: SchemaProblem | undefined;
        blockedMs = await longestTurnMs(async () => {
          problem = await validator.check(structuredClone(schema), value, `server ${_name}`);
        });
        if (problem !== undefined) expect(describeProblem("it", problem)).toMatch(/^it/);
      }
      expect(blockedMs).toBeLessThan(MAX_DELAY_MS);
      expect(await validator.check({ type: "number" }, 1)).toBeUndefined();
      // A busy machine may take longer for it than the short time that a check has here.
      await eventually(async () =>
        expect(await validator.check({ pattern: "^a$" }, "a", "another server")).toBeUndefined(),
      );
    },
    120_000,
  );
});

describe("what is checked at once", () => {
  const row = { type: "object", properties: byName(10, (i) => [`c${i}`, { type: ["string", "null"] }]) };

  it.each<[string, unknown, unknown]>([
    ["arguments of a common kind", { ...row, required: ["c1"], additionalProperties: false }, { c1: "x" }],
    [
      "a thousand rows of ten columns",
      { type: "array", items: row },
      list(1_000, () => byName(10, (i) => [`c${i}`, "x"])),
    ],
    [
      "definitions that are referred to",
      { properties: { a: { $ref: "#/$defs/row" } }, $defs: { row } },
      { a: {} },
    ],
    [
      "values beside long lists that no check reads",
      { items: { examples: list(1_000, (i) => i), default: byName(1_000, (i) => [`k${i}`, 1]) } },
      list(1_000, () => 1),
    ],
    ["text of a format", { items: { format: "email" } }, list(500, () => "a.".repeat(20_000))],
    [
      "any value that nothing is said of",
      { type: "object", properties: { a: {} } },
      { a: list(500_000, () => []) },
    ],
  ])("is %s", (_name, schema, value) => {
    const cost = costOfSchema(schema);
    expect(cost).toMatchObject({ mayRunAway: false });
    expect(cost !== undefined && isCheap(cost, value)).toBe(true);
  });

  it.each<[string, unknown]>([
    ["a reference to itself", { items: { $ref: "#" } }],
    ["definitions that go round", { $ref: "#/$defs/a", $defs: { a: { items: { $ref: "#/$defs/a" } } } }],
    ["references that double", doubling(10)],
    ["a reference that an identifier moves", { items: { $id: "x", $ref: "#/$defs/a" }, $defs: { a: {} } }],
    ["a hundred alternatives", { anyOf: list(100, () => ({ type: "string" })) }],
    ["an enum of 10,000", { enum: list(10_000, (i) => i) }],
    [
      "anchors, each of which is compiled on its own",
      { $dynamicAnchor: "a", properties: { x: { $dynamicAnchor: "b" } } },
    ],
    ["anchors of the draft before", { $recursiveAnchor: true }],
    ["unevaluated members", { unevaluatedProperties: false }],
    ["a pattern with classes of thousands of characters", { pattern: "(?:\\p{L}|\\P{N})+" }],
    ["a pattern for names with such classes", { patternProperties: { "\\p{L}": {} } }],
    ["a long pattern", { items: { pattern: "[^a]|".repeat(100) } }],
    ["a pattern with alternatives", { pattern: "^(?:\\S|\\W|.){8}$" }],
    ["a pattern with alternatives and no group", { pattern: "^a|[|]b" }],
    ["many levels", nested(40, (items) => ({ items }), {})],
  ])("is nothing with %s", (_name, schema) => {
    expect(costOfSchema(schema)).toBeUndefined();
  });

  it.each<[string, unknown, unknown]>([
    ["empty arrays", { items: { anyOf: [{ type: "string" }, {}] } }, list(50_000, () => [])],
    ["empty objects", { items: { required: ["a", "b"] } }, list(50_000, () => ({}))],
    ["long strings", { items: { minLength: 1 } }, list(100, () => "x".repeat(10_000))],
    ["characters of a name", { propertyNames: { maxLength: 9 } }, { ["x".repeat(1_000_000)]: 1 }],
    ["many members", { additionalProperties: { type: "number" } }, byName(50_000, (i) => [`k${i}`, i])],
    [
      "characters of a member's name",
      { additionalProperties: { minLength: 1, maxLength: 9 } },
      { ["x".repeat(40_000)]: "" },
    ],
    ["names in an enum", { items: { enum: list(2_500, (i) => `v${i}`) } }, list(120, () => "x")],
    [
      "names of properties",
      { items: { properties: byName(25, (i) => [`p${i}`, {}]) } },
      list(3_000, () => 1),
    ],
    ["required names", { items: { required: list(25, (i) => `r${i}`) } }, list(3_000, () => 1)],
    [
      "names that others require",
      { items: { dependentRequired: { a: list(25, (i) => `r${i}`) } } },
      list(3_000, () => 1),
    ],
    [
      "members of names",
      { properties: { a: { propertyNames: { minLength: 1 } } } },
      { a: byName(25_000, (i) => [`k${i}`, 1]) },
    ],
  ])("is no great number of %s", (_name, schema, value) => {
    const cost = costOfSchema(schema);
    expect(cost !== undefined && isCheap(cost, value)).toBe(false);
  });

  it.each<[string, (schema: object) => object]>([
    ...["not", "if", "then", "else"].map((keyword): [string, (schema: object) => object] => [
      keyword,
      (schema) => ({ [keyword]: schema }),
    ]),
    ["allOf", (schema) => ({ allOf: [{}, schema] })],
    ["anyOf", (schema) => ({ anyOf: [schema] })],
    ["oneOf", (schema) => ({ oneOf: [schema, {}] })],
    ["dependentSchemas", (schema) => ({ dependentSchemas: { a: schema } })],
  ])("counts what is said of the same value by %s", (_keyword, within) => {
    const costly = { items: { required: list(25, (i) => `r${i}`) } };
    const rows = list(3_000, () => 1);
    const isCheapIn = (schema: object) => {
      const cost = costOfSchema(schema);
      return cost !== undefined && isCheap(cost, rows);
    };
    expect([isCheapIn(within({})), isCheapIn(within(costly))]).toEqual([true, false]);
  });
});

it("keeps few of the schemas that pass through", () => {
  const title = "t".repeat(10_000);
  const check = (i: number) => checkAgainstSchema(`{"required":["p${i}"],"title":"${title}"}`, {});
  for (let i = 0; i < 500; i++) check(i);
  const before = heldBytes();
  for (let i = 500; i < 1_500; i++) expect(check(i)).toEqual({ place: `.p${i}`, message: "is missing" });
  expect(heldBytes() - before).toBeLessThan(5 * 1024 * 1024);
}, 120_000);
