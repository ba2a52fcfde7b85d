/**
 * What JSON values at one place looked like: kinds and names, and how often they were seen. No value of the data is in a shape.
 * Shapes are joined (`merge-shapes.ts`) and never narrowed, so that the order in which values are observed makes no difference.
 */
export interface Shape {
  /** How many values were seen at this place. */
  readonly seen: number;
  /** Whether the place is deeper or larger than is learned. Then nothing else is known of it. */
  readonly isAny?: true;
  readonly isNull?: true;
  readonly isBoolean?: true;
  /** `integer` while no value had a fraction. */
  readonly number?: "integer" | "number";
  readonly string?: StringShape;
  /** What all elements of all arrays look like, whatever their place in the array. */
  readonly items?: Shape;
  readonly object?: ObjectShape;
}

export interface StringShape {
  /** The format that every text had; `plain` where there is none that all had. */
  readonly format: string;
  /**
   * The texts that were seen, sorted, as long as each is one that the tool's own definition lists as a choice; `undefined` after
   * any other text. So a text of the data is never kept.
   */
  readonly choices?: readonly string[];
}

export interface ObjectShape {
  /** How many objects were seen. */
  readonly seen: number;
  /** By name. A map, because `__proto__` is a name like any other. */
  readonly members: ReadonlyMap<string, Shape>;
  /** What the members look like whose names are data: ids, dates, addresses. The names are not kept. */
  readonly rest?: Shape;
  /** Whether there were more names than an object has that is no map. Then all members are in `rest`. */
  readonly isMap?: true;
}

/** The shape of a place where nothing was seen. */
export const NOTHING: Shape = { seen: 0 };

/** Levels of arrays and objects that are learned. What lies deeper is any. */
export const MAX_SHAPE_DEPTH = 10;

/** Names of one object. One with more is a map. */
export const MAX_MEMBERS = 120;

/** Choices of one text. A text with more has none. */
export const MAX_CHOICES = 24;

/** Places in the shape of one tool's results. */
export const MAX_SHAPE_PLACES = 1_500;

/** How many places a shape has, itself included. */
export function countPlaces(shape: Shape): number {
  let count = 1;
  if (shape.items !== undefined) count += countPlaces(shape.items);
  for (const each of shape.object?.members.values() ?? []) count += countPlaces(each);
  if (shape.object?.rest !== undefined) count += countPlaces(shape.object.rest);
  return count;
}

/** The same shape with at most `maxPlaces` places: of a larger one, the deepest levels are any. */
export function boundShape(shape: Shape, maxPlaces = MAX_SHAPE_PLACES): Shape {
  let bounded = shape;
  for (let depth = MAX_SHAPE_DEPTH; depth >= 0 && countPlaces(bounded) > maxPlaces; depth--)
    bounded = cutBelow(shape, depth);
  return bounded;
}

function cutBelow(shape: Shape, depth: number): Shape {
  const { items, object } = shape;
  if (items === undefined && object === undefined) return shape;
  if (depth === 0) return { seen: shape.seen, isAny: true };
  return {
    ...shape,
    ...(items && { items: cutBelow(items, depth - 1) }),
    ...(object && {
      object: {
        ...object,
        members: new Map([...object.members].map(([name, each]) => [name, cutBelow(each, depth - 1)])),
        ...(object.rest && { rest: cutBelow(object.rest, depth - 1) }),
      },
    }),
  };
}
