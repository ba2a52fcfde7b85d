import { describeProblem, type SchemaProblem } from "../../../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../../../broker/schemas/schema-validator.ts";

/** Schemas as no honest server writes them, and values for them, through the validator. */

export type Random = () => number;

const PARALLEL = 8;
const DEADLINE_MS = 120_000;
const MAX_PROBLEM_CHARS = 1_100;
/** One schema in so many holds its thread until it is ended. */
const RUNAWAY_IN = 4_000;

/** Mulberry32: numbers from 0 to 1, the same for the same seed. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const NAMES = [
  "a",
  "b",
  "id",
  "__proto__",
  "constructor",
  "a/b~c",
  "",
  "$ref",
  "x\u2028y",
  "\ud800",
  "toString",
];
const TEXTS = [
  "",
  "a",
  "aaaa!",
  "2026-01-01",
  "2026-01-01T00:00:00Z",
  "http://x/y",
  "\ud800",
  "\n\u202e",
  "1".repeat(300),
];
const NUMBERS = [0, -0, 1, -1, 1.5, 1e308, 5e-324, 2 ** 53, -3];
const TYPES = ["string", "number", "integer", "boolean", "null", "object", "array", "file", 1, null];
const PATTERNS = ["^a", "a+", "^(a|b)*c$", "(?i)x", "[", "\\p{L}+", "^.{0,3}$", "(?<=a)b"];
const FORMATS = ["date", "date-time", "email", "uri", "regex", "uuid", "ipv6", "byte", "unheard-of", 3];
const REFERENCES = ["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#a", "http://127.0.0.1:9/x", "#/%", 7];
const DIALECTS = [
  "http://json-schema.org/draft-07/schema#",
  "https://json-schema.org/draft/2020-12/schema",
  "x",
  1,
];

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}

function several<T>(random: Random, most: number, make: () => T): T[] {
  return Array.from({ length: Math.floor(random() * (most + 1)) }, make);
}

/** An object whose members are its own, whatever they are called. */
function members(random: Random, make: () => unknown): object {
  return Object.fromEntries(several(random, 3, () => [pick(random, NAMES), make()]));
}

/** Any JSON value of a few levels. */
export function sampleValue(random: Random, depth = 3): unknown {
  const kind = Math.floor(random() * (depth > 0 ? 7 : 5));
  if (kind === 0) return null;
  if (kind === 1) return random() < 0.5;
  if (kind === 2) return pick(random, NUMBERS);
  if (kind < 5) return pick(random, TEXTS);
  if (kind === 5) return several(random, 4, () => sampleValue(random, depth - 1));
  return members(random, () => sampleValue(random, depth - 1));
}

/** Any schema of a few levels: with keywords whose values are of the wrong kind, and references that go round. */
export function sampleSchema(random: Random, depth = 3): unknown {
  if (depth === 0 || random() < 0.05) return pick<unknown>(random, [true, false, {}, null, 3, "text"]);
  const schema: Record<string, unknown> = {};
  for (const [keyword, make] of several(random, 4, () => pick(random, KEYWORDS))) {
    schema[keyword] = random() < 0.03 ? sampleValue(random, 1) : make(random, depth - 1);
  }
  if (depth === 3 && random() < 0.3)
    schema.$defs = { a: sampleSchema(random, 2), b: sampleSchema(random, 1) };
  if (depth === 3 && random() < 0.2) schema.$schema = pick<unknown>(random, DIALECTS);
  return schema;
}

const KEYWORDS: readonly (readonly [string, (random: Random, depth: number) => unknown])[] = [
  [
    "type",
    (random) => (random() < 0.7 ? pick(random, TYPES) : several(random, 3, () => pick(random, TYPES))),
  ],
  ["properties", (random, depth) => members(random, () => sampleSchema(random, depth))],
  ["patternProperties", (random, depth) => ({ [pick(random, PATTERNS)]: sampleSchema(random, depth) })],
  ["additionalProperties", sampleSchema],
  ["unevaluatedProperties", sampleSchema],
  ["unevaluatedItems", sampleSchema],
  ["propertyNames", sampleSchema],
  ["required", (random) => several(random, 3, () => pick(random, NAMES))],
  ["dependentSchemas", (random, depth) => members(random, () => sampleSchema(random, depth))],
  ["dependentRequired", (random) => members(random, () => several(random, 2, () => pick(random, NAMES)))],
  [
    "items",
    (random, depth) => (random() < 0.8 ? sampleSchema(random, depth) : [sampleSchema(random, depth)]),
  ],
  ["prefixItems", (random, depth) => several(random, 3, () => sampleSchema(random, depth))],
  ["contains", sampleSchema],
  ["minContains", (random) => pick(random, NUMBERS)],
  ["maxContains", (random) => pick(random, NUMBERS)],
  ["uniqueItems", (random) => random() < 0.8],
  ["allOf", (random, depth) => several(random, 3, () => sampleSchema(random, depth))],
  ["anyOf", (random, depth) => several(random, 3, () => sampleSchema(random, depth))],
  ["oneOf", (random, depth) => several(random, 3, () => sampleSchema(random, depth))],
  ["not", sampleSchema],
  ["if", sampleSchema],
  ["then", sampleSchema],
  ["else", sampleSchema],
  ["enum", (random) => several(random, 3, () => sampleValue(random, 1))],
  ["const", (random) => sampleValue(random, 1)],
  ["pattern", (random) => pick(random, PATTERNS)],
  ["format", (random) => pick(random, FORMATS)],
  ["minLength", (random) => pick(random, NUMBERS)],
  ["maxItems", (random) => pick(random, NUMBERS)],
  ["minProperties", (random) => pick(random, NUMBERS)],
  ["minimum", (random) => pick(random, NUMBERS)],
  ["exclusiveMaximum", (random) => (random() < 0.7 ? pick(random, NUMBERS) : true)],
  ["multipleOf", (random) => pick(random, NUMBERS)],
  ["nullable", () => true],
  ["$ref", (random) => pick(random, REFERENCES)],
  ["$dynamicRef", (random) => pick(random, REFERENCES)],
  ["$id", (random) => pick(random, ["#a", "http://x/y", "", 3])],
  ["$anchor", (random) => pick(random, ["a", "b", ""])],
  ["$async", () => true],
];

/** A schema and a value that would hold a thread for ages. */
function runaway(random: Random): { schema: unknown; value: unknown } {
  return {
    schema: { pattern: `^(a+${"a?".repeat(Math.floor(random() * 5))})+$` },
    value: `${"a".repeat(50)}!`,
  };
}

async function checkOne(validator: IsolatingValidator, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const { schema, value } =
    Math.floor(random() * RUNAWAY_IN) === 0
      ? runaway(random)
      : { schema: sampleSchema(random), value: sampleValue(random) };
  const owner = pick(random, ["one", "two", "three", undefined]);
  const where = `schema ${JSON.stringify(schema)} with ${JSON.stringify(value)}`;
  const first = await inTime(validator.check(schema, value, owner).then(inWords), where);
  if (first !== undefined && !isProblem(first)) throw new Error(`${where}: says ${JSON.stringify(first)}`);
  if (first?.startsWith("could not be checked")) return;
  // The same schema in another object, the same value beside others.
  const again = await inTime(validator.check(structuredClone(schema), value, "again").then(inWords), where);
  if (again !== first && !again?.startsWith("could not be checked"))
    throw new Error(`${where}: says ${JSON.stringify(first)}, and then ${JSON.stringify(again)}`);
}

function isProblem(problem: unknown): boolean {
  return (
    typeof problem === "string" &&
    problem.length <= MAX_PROBLEM_CHARS &&
    !/[\p{Cc}\p{Zl}\p{Cs}]/u.test(problem)
  );
}

function inWords(problem: SchemaProblem | undefined): string | undefined {
  return problem === undefined ? undefined : describeProblem("", problem).trimStart();
}

async function inTime(check: Promise<string | undefined>, where: string): Promise<string | undefined> {
  let clock: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    clock = setTimeout(() => reject(new Error(`${where}: was never answered`)), DEADLINE_MS);
  });
  try {
    return await Promise.race([check, late]);
  } finally {
    clearTimeout(clock);
  }
}

export const target = {
  name: "schema",
  /** Checks so many schemas. @throws for the first that is not answered, or not as it should be. */
  async run(seed: number, iterations: number): Promise<void> {
    const validator = new IsolatingValidator();
    let next = 0;
    const checkSome = async () => {
      while (next < iterations) await checkOne(validator, Math.imul(seed, 1_000_003) + next++);
    };
    try {
      await Promise.all(Array.from({ length: PARALLEL }, checkSome));
    } finally {
      await validator.close();
    }
  },
};
