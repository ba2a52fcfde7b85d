import type { ObjectShape, Shape } from "./shape.ts";

/** Objects after which it is known how regularly names come. */
const ENOUGH_OBJECTS = 3;

/** Of so many objects at most one has a name that is data. */
const MIN_ABSENCE = 3;

/** Names of one kind that an object has which is a map, where names of maps have no form of their own. */
const MIN_NAMES = 4;
const MIN_SCALAR_NAMES = 12;

/** Codes that name currencies, countries and languages: `EUR`, `de`, `pt-BR`. */
const CODE = /^(?:[A-Z]{2,5}|[a-z]{2}(?:-[A-Z]{2})?)$/;

/** Names of two letters that are members everywhere. */
const SHORT_WORDS: ReadonlySet<string> = new Set(
  "id to by at is ok no up on in of or as do if it us ip os ts cc".split(" "),
);

/**
 * Whether the names of an object look like data rather than like members: values of one kind under names that come and go from
 * object to object, under many names at once, or under codes. As long as few objects were seen, in doubt an object is a map.
 */
export function looksLikeMap({ seen, members, isMap }: ObjectShape): boolean {
  if (isMap) return true;
  const shapes = [...members.values()];
  if (shapes.length < 2 || !areAlike(shapes)) return false;
  const names = [...members.keys()];
  if (names.every((name) => CODE.test(name) && !SHORT_WORDS.has(name))) return true;
  if (shapes.length < MIN_NAMES) return false;
  if (seen >= ENOUGH_OBJECTS) return shapes.every((shape) => shape.seen * MIN_ABSENCE <= seen);
  return shapes.length >= (shapes.some(({ object }) => object !== undefined) ? MIN_NAMES : MIN_SCALAR_NAMES);
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
