import { describeProblem, type SchemaProblem } from "../../../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../../../broker/schemas/schema-validator.ts";
import { LISTS } from "../hostile/words.ts";
import { Random } from "../random.ts";

/** Schemas as no honest server writes them, and values for them, through the validator. */

const PARALLEL = 8;
const DEADLINE_MS = 120_000;
const MAX_PROBLEM_CHARS = 1_100;
/** One schema in so many holds its thread until it is ended. */
const RUNAWAY_IN = 4_000;

const NAMES = LISTS.propertyNames;
const TEXTS = [...LISTS.values, "1".repeat(300)];
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

function several<T>(random: Random, most: number, make: () => T): T[] {
  return random.list(random.below(most + 1), make);
}

/** An object whose members are its own, whatever they are called. */
function members(random: Random, make: () => unknown): object {
  return Object.fromEntries(several(random, 3, () => [random.pick(NAMES), make()]));
}

/** Any JSON value of a few levels. */
export function sampleValue(random: Random, depth = 3): unknown {
  const kind = random.below(depth > 0 ? 7 : 5);
  if (kind === 0) return null;
  if (kind === 1) return random.chance(0.5);
  if (kind === 2) return random.pick(NUMBERS);
  if (kind < 5) return random.pick(TEXTS);
  if (kind === 5) return several(random, 4, () => sampleValue(random, depth - 1));
  return members(random, () => sampleValue(random, depth - 1));
}

/** Any schema of a few levels: with keywords whose values are of the wrong kind, and references that go round. */
export function sampleSchema(random: Random, depth = 3): unknown {
  if (depth === 0 || random.chance(0.05)) return random.pick<unknown>([true, false, {}, null, 3, "text"]);
  const schema: Record<string, unknown> = {};
  for (const [keyword, make] of several(random, 4, () => random.pick(KEYWORDS))) {
    schema[keyword] = random.chance(0.03) ? sampleValue(random, 1) : make(random, depth - 1);
  }
  if (depth === 3 && random.chance(0.3))
    schema.$defs = { a: sampleSchema(random, 2), b: sampleSchema(random, 1) };
  if (depth === 3 && random.chance(0.2)) schema.$schema = random.pick<unknown>(DIALECTS);
  return schema;
}

type Make = (random: Random, depth: number) => unknown;
const someSchemas: Make = (random, depth) => several(random, 3, () => sampleSchema(random, depth));
const namedSchemas: Make = (random, depth) => members(random, () => sampleSchema(random, depth));
const someNames = (most: number) => (random: Random) => several(random, most, () => random.pick(NAMES));
const oneOf = (list: readonly unknown[]) => (random: Random) => random.pick(list);

/** Keywords, and what makes values of them. */
const KEYWORDS = Object.entries<Make>({
  additionalProperties: sampleSchema,
  unevaluatedProperties: sampleSchema,
  unevaluatedItems: sampleSchema,
  propertyNames: sampleSchema,
  contains: sampleSchema,
  not: sampleSchema,
  if: sampleSchema,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: sampleSchema,
  else: sampleSchema,
  properties: namedSchemas,
  dependentSchemas: namedSchemas,
  patternProperties: (random, depth) => ({ [random.pick(PATTERNS)]: sampleSchema(random, depth) }),
  prefixItems: someSchemas,
  allOf: someSchemas,
  anyOf: someSchemas,
  oneOf: someSchemas,
  items: (random, depth) =>
    random.chance(0.8) ? sampleSchema(random, depth) : [sampleSchema(random, depth)],
  type: (random) => (random.chance(0.7) ? random.pick(TYPES) : several(random, 3, () => random.pick(TYPES))),
  required: someNames(3),
  dependentRequired: (random) => members(random, () => someNames(2)(random)),
  enum: (random) => several(random, 3, () => sampleValue(random, 1)),
  const: (random) => sampleValue(random, 1),
  minContains: oneOf(NUMBERS),
  maxContains: oneOf(NUMBERS),
  minLength: oneOf(NUMBERS),
  maxItems: oneOf(NUMBERS),
  minProperties: oneOf(NUMBERS),
  minimum: oneOf(NUMBERS),
  multipleOf: oneOf(NUMBERS),
  exclusiveMaximum: (random) => (random.chance(0.7) ? random.pick(NUMBERS) : true),
  pattern: oneOf(PATTERNS),
  format: oneOf(FORMATS),
  $ref: oneOf(REFERENCES),
  $dynamicRef: oneOf(REFERENCES),
  $id: oneOf(["#a", "http://x/y", "", 3]),
  $anchor: oneOf(["a", "b", ""]),
  uniqueItems: (random) => random.chance(0.8),
  nullable: () => true,
  $async: () => true,
});

/** A schema and a value that would hold a thread for ages. */
function runaway(random: Random): { schema: unknown; value: unknown } {
  return {
    schema: { pattern: `^(a+${"a?".repeat(random.below(5))})+$` },
    value: `${"a".repeat(50)}!`,
  };
}

async function checkOne(validator: IsolatingValidator, seed: number): Promise<void> {
  const random = new Random("schema", seed);
  const { schema, value } =
    random.below(RUNAWAY_IN) === 0
      ? runaway(random)
      : { schema: sampleSchema(random), value: sampleValue(random) };
  const owner = random.pick(["one", "two", "three", undefined]);
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
