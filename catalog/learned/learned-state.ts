import * as z from "zod";
import { isObject, parseForeignJson } from "../../base/json.ts";
import { byCodeUnit } from "../../protocol/canonical-json.ts";
import { Digest } from "../../protocol/digest.ts";
import type { JsonObject } from "../model/schema-references.ts";
import { collectLearned, type LearnedOf, type LearnedTypes, learnedKey, sorted } from "./learned-types.ts";
import {
  asMap,
  boundShape,
  hasMemberWord,
  MAX_CHOICES,
  MAX_MEMBERS,
  mergeShapes,
  type ObjectShape,
  type Shape,
  type StringShape,
} from "./shape.ts";

const Count = z.int().min(0);

/** A shape as JSON. Members are pairs, because any text can be a name. */
interface ShapeJson {
  seen: number;
  any?: true | undefined;
  null?: true | undefined;
  boolean?: true | undefined;
  number?: "integer" | "number" | undefined;
  string?: { format: string; choices?: string[] | undefined } | undefined;
  items?: ShapeJson | undefined;
  object?:
    | { seen: number; members: [string, ShapeJson][]; rest?: ShapeJson | undefined; map?: true | undefined }
    | undefined;
}

const Format = z.string().regex(/^[a-z-]{1,20}$/);

const ShapeJson: z.ZodType<ShapeJson> = z.lazy(() =>
  z.strictObject({
    seen: Count,
    any: z.literal(true).optional(),
    null: z.literal(true).optional(),
    boolean: z.literal(true).optional(),
    number: z.enum(["integer", "number"]).optional(),
    string: z
      .strictObject({
        format: Format,
        choices: z.array(z.string().max(64)).max(MAX_CHOICES).optional(),
      })
      .optional(),
    items: ShapeJson.optional(),
    object: z
      .strictObject({
        seen: Count,
        members: z.array(z.tuple([z.string().max(64), ShapeJson])).max(MAX_MEMBERS),
        rest: ShapeJson.optional(),
        map: z.literal(true).optional(),
      })
      .optional(),
  }),
);

/** The JSON of a shape. It does not depend on the order in which members were seen. */
export function shapeToJson(shape: Shape): ShapeJson {
  const { seen, isAny, isNull, isBoolean, number, string, items, object } = shape;
  return {
    seen,
    ...(isAny && { any: true }),
    ...(isNull && { null: true }),
    ...(isBoolean && { boolean: true }),
    ...(number && { number }),
    ...(string && {
      string: { format: string.format, ...(string.choices && { choices: [...string.choices] }) },
    }),
    ...(items && { items: shapeToJson(items) }),
    ...(object && {
      object: {
        seen: object.seen,
        members: [...object.members]
          .sort(([a], [b]) => byCodeUnit(a, b))
          .map(([name, each]): [string, ShapeJson] => [name, shapeToJson(each)]),
        ...(object.rest && { rest: shapeToJson(object.rest) }),
        ...(object.isMap && { map: true }),
      },
    }),
  };
}

function shapeFromJson(json: ShapeJson): Shape {
  const { seen, number, string, items, object } = json;
  return {
    seen,
    ...(json.any && { isAny: true }),
    ...(json.null && { isNull: true }),
    ...(json.boolean && { isBoolean: true }),
    ...(number && { number }),
    ...(string && { string: { format: string.format, ...(string.choices && { choices: string.choices }) } }),
    ...(items && { items: shapeFromJson(items) }),
    ...(object && {
      object: {
        seen: object.seen,
        members: new Map(object.members.map(([name, each]) => [name, shapeFromJson(each)])),
        ...(object.rest && { rest: shapeFromJson(object.rest) }),
        ...(object.map && { isMap: true }),
      },
    }),
  };
}

/** The observations of one tool's results. */
export interface Observed extends LearnedOf {
  readonly calls: number;
  readonly shape: Shape;
}

/** All observations on one machine, and the position up to which its archive was read. */
export interface LearnedState {
  /** The position of the last run of the archive that was read. */
  readonly position: number;
  /** By `learnedKey`. */
  readonly observed: ReadonlyMap<string, Observed>;
}

export const NOTHING_OBSERVED: LearnedState = { position: 0, observed: new Map() };

/** The most tools with observations. Beyond that, the tools with the fewest calls are dropped. */
const MAX_TOOLS = 1_000;
const LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 256, maxValues: 8_000_000 };

const StateFile = z.strictObject({
  version: z.literal(1),
  position: z.int().min(0),
  tools: z.array(
    z.strictObject({
      server: z.string(),
      tool: z.string(),
      definition: Digest,
      calls: z.int().min(1),
      shape: ShapeJson,
    }),
  ),
});

/** Adds the shape of one call's result. */
export function addObserved(
  observed: ReadonlyMap<string, Observed>,
  of: LearnedOf,
  shape: Shape,
): Map<string, Observed> {
  const key = learnedKey(of);
  const known = observed.get(key);
  const merged = known === undefined ? shape : mergeShapes(known.shape, shape);
  return new Map(observed).set(key, { ...of, calls: (known?.calls ?? 0) + 1, shape: boundShape(merged) });
}

/** The types of observed results. Results that could be anything have none. */
export function typesOf(observed: Iterable<Observed>): LearnedTypes {
  const records = [...observed].map(({ server, tool, definition, calls, shape }) => {
    return { server, tool, definition, calls, schema: schemaOfShape(shape) };
  });
  return collectLearned(records.filter(({ schema }) => Object.keys(schema).length > 0));
}

/** Parses a state. Returns `undefined` for text that ptc did not write. */
export function parseState(text: Uint8Array): LearnedState | undefined {
  try {
    const { position, tools } = StateFile.parse(parseForeignJson(text, LIMITS));
    const observed = tools.map(({ shape, ...each }): Observed => ({ ...each, shape: shapeFromJson(shape) }));
    return { position, observed: new Map(observed.map((each) => [learnedKey(each), each])) };
  } catch {
    return undefined;
  }
}

/** Whether a newer ptc wrote a text, which this ptc must not replace. */
export function isNewerState(text: Uint8Array): boolean {
  try {
    const state = parseForeignJson(text, LIMITS);
    return isObject(state) && typeof state.version === "number" && state.version > 1;
  } catch {
    return false;
  }
}

export function renderState({ position, observed }: LearnedState): string {
  const kept = [...observed.values()].sort((a, b) => b.calls - a.calls).slice(0, MAX_TOOLS);
  const tools = sorted(kept).map(({ server, tool, definition, calls, shape }) =>
    JSON.stringify({ server, tool, definition, calls, shape: shapeToJson(shape) }),
  );
  return `{"version":1,"position":${position},"tools":[\n${tools.join(",\n")}\n]}\n`;
}

/** How often a text must be seen before its choices count: in total, and for each choice. */
const MIN_SEEN = 20;
const MIN_SEEN_EACH = 5;

/**
 * The JSON Schema of a shape. It does not depend on the order in which members were seen. No member is required. A place that
 * is any, or where only null was seen, has no type.
 */
export function schemaOfShape(shape: Shape): JsonObject {
  const kinds: JsonObject[] = [];
  if (shape.isBoolean) kinds.push({ type: "boolean" });
  if (shape.number !== undefined) kinds.push({ type: shape.number });
  if (shape.string !== undefined) kinds.push(schemaOfText(shape.string, shape.seen));
  if (shape.items !== undefined) kinds.push(schemaOfArray(shape.items));
  if (shape.object !== undefined) kinds.push(schemaOfObject(shape.object));
  const [only, another] = kinds;
  if (only === undefined) return {};
  if (another === undefined && !shape.isNull) return only;
  return { anyOf: shape.isNull ? [...kinds, { type: "null" }] : kinds };
}

function schemaOfText({ format, choices = [] }: StringShape, seen: number): JsonObject {
  const isSure = choices.length >= 2 && seen >= Math.max(MIN_SEEN, MIN_SEEN_EACH * choices.length);
  return {
    type: "string",
    ...(isSure ? { enum: [...choices] } : {}),
    ...(format === "plain" ? {} : { format }),
  };
}

function schemaOfArray(items: Shape): JsonObject {
  const schema = schemaOfShape(items);
  return Object.keys(schema).length === 0 ? { type: "array" } : { type: "array", items: schema };
}

function schemaOfObject(object: ObjectShape): JsonObject {
  const kind = objectKind(object);
  if (kind === "open") return { type: "object", additionalProperties: {} };
  const { members, rest } = kind === "map" ? asMap(object) : object;
  const sorted = [...members].sort(([a], [b]) => byCodeUnit(a, b));
  return {
    type: "object",
    ...(sorted.length === 0
      ? {}
      : { properties: Object.fromEntries(sorted.map(([name, shape]) => [name, schemaOfShape(shape)])) }),
    ...(rest === undefined ? {} : { additionalProperties: schemaOfShape(rest) }),
  };
}

/** After this many objects, the regularity of names is known. */
const ENOUGH_OBJECTS = 3;

/** Names come and go if, on average, at most this share of the objects has them. */
const RARE = 1 / 3;

/** Names without a known word count as members if at least this many objects were seen, and this share of them has the names. */
const MANY_OBJECTS = 10;
const REGULAR = 2 / 3;

/** The least number of names that can make an object a map, for members that are objects and for other members. */
const MIN_NAMES = 4;
const MIN_SCALAR_NAMES = 12;

/** From this number on, names that come and go are data, whatever their values are. */
const MANY_NAMES = 12;

/** Matches codes of currencies, countries and languages: `EUR`, `de`, `pt-BR`. */
const CODE = /^(?:[A-Z]{2,5}|[a-z]{2}(?:-[A-Z]{2})?)$/;

/** Common names of members with two letters. */
const SHORT_WORDS: ReadonlySet<string> = new Set(
  "id to by at is ok no up on in of or as do if it us ip os ts cc".split(" "),
);

/**
 * The kind of an object: `members` if its names belong to its type, `map` if its names are data, and `open` if its names may be
 * data and its values are of several kinds. Names are data if they come and go from object to object, if there are many at once,
 * or if they are codes. While few objects were seen, names without a word of usual names count as data too. In doubt, no name is
 * kept.
 */
function objectKind(object: ObjectShape): "members" | "map" | "open" {
  const { seen, members, rest } = object;
  if (members.size === 0) return "members";
  const shapes = [...members.values()];
  const names = [...members.keys()];
  const presence = shapes.reduce((sum, shape) => sum + shape.seen, 0) / (shapes.length * Math.max(seen, 1));
  const known = names.filter((name) => hasMemberWord(name)).length / names.length;
  const isFew = seen < ENOUGH_OBJECTS;
  if (!areAlike(rest === undefined ? shapes : [...shapes, rest])) {
    const comeAndGo = seen >= MANY_OBJECTS && names.length >= MANY_NAMES && presence <= RARE;
    return known === 0 && (isFew || comeAndGo) ? "open" : "members";
  }
  if (areCodes(names)) return "map";
  if (known <= 0.5 && (seen < MANY_OBJECTS || presence < REGULAR)) return "map";
  if (isFew) {
    const many = shapes.some(({ object: each }) => each !== undefined) ? MIN_NAMES : MIN_SCALAR_NAMES;
    return names.length >= many && known < 0.8 ? "map" : "members";
  }
  return names.length >= MIN_NAMES && presence <= RARE ? "map" : "members";
}

function areCodes(names: readonly string[]): boolean {
  const telling = names.filter((name) => !SHORT_WORDS.has(name)).length;
  return telling >= 2 && names.every((name) => CODE.test(name)) && telling * 2 > names.length;
}

/** Whether all shapes are of one kind, except places where only null was seen. Objects must also share most of their names. */
function areAlike(shapes: readonly Shape[]): boolean {
  const kinds = shapes.map(kindsOf).filter((each) => each !== "");
  const [first] = kinds;
  if (first === undefined || kinds.some((each) => each !== first)) return false;
  const objects = shapes.flatMap(({ object }) =>
    object === undefined ? [] : [new Set(object.members.keys())],
  );
  const all = new Set(objects.flatMap((names) => [...names]));
  return objects.every((names) => names.size * 2 >= all.size);
}

function kindsOf(shape: Shape): string {
  const { isAny, isBoolean, number, string, items, object } = shape;
  return [
    isAny && "any",
    isBoolean && "boolean",
    number && "number",
    string && "string",
    items && "items",
    object && "object",
  ]
    .filter((each) => each)
    .join();
}
