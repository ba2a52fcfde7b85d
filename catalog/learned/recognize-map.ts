import { hasMemberWord } from "./member-words.ts";
import type { ObjectShape, Shape } from "./shape.ts";

/** Objects after which it is known how regularly names come. */
const ENOUGH_OBJECTS = 3;

/** Names that so few of the objects have, on average, come and go. */
const RARE = 1 / 3;

/** What makes members of names that have no word in them that members are known by: so many objects have them, and so regularly. */
const MANY_OBJECTS = 10;
const REGULAR = 2 / 3;

/** Names of one kind that an object has which is a map, where names of maps have no form of their own. */
const MIN_NAMES = 4;
const MIN_SCALAR_NAMES = 12;

/** Names that come and go, from which on they are data whatever their values are. */
const MANY_NAMES = 12;

/** Codes that name currencies, countries and languages: `EUR`, `de`, `pt-BR`. */
const CODE = /^(?:[A-Z]{2,5}|[a-z]{2}(?:-[A-Z]{2})?)$/;

/** Names of two letters that are members everywhere. */
const SHORT_WORDS: ReadonlySet<string> = new Set(
  "id to by at is ok no up on in of or as do if it us ip os ts cc".split(" "),
);

/**
 * What an object is: one of members; a map, whose names are data; or open, when its names may be data and what they stand for is
 * of several kinds. Names are data that come and go from object to object, that are many at once or that are codes. As long as few
 * objects were seen, so are those that have no word in them that members are known by: in doubt no name is kept.
 */
export function objectKind(object: ObjectShape): "members" | "map" | "open" {
  const { seen, members, rest, isMap } = object;
  if (isMap) return "map";
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

/** Whether all are of one kind, but for what was seen as null alone; objects also have to have most of their names in common. */
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
