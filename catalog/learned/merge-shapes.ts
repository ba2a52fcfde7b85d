import { byCodeUnit } from "../../base/by-code-unit.ts";
import {
  MAX_CHOICES,
  MAX_MEMBERS,
  NOTHING,
  type ObjectShape,
  type Shape,
  type StringShape,
} from "./shape.ts";

/**
 * The shape of all values that either shape was observed of. Commutative and associative. Merging a shape with itself changes
 * counts alone.
 */
export function mergeShapes(a: Shape, b: Shape): Shape {
  const seen = a.seen + b.seen;
  if (a.isAny || b.isAny) return { seen, isAny: true };
  return {
    seen,
    ...((a.isNull ?? b.isNull) && { isNull: true }),
    ...((a.isBoolean ?? b.isBoolean) && { isBoolean: true }),
    ...either("number", a.number, b.number, (x, y) => (x === y ? x : "number")),
    ...either("string", a.string, b.string, mergeStrings),
    ...either("items", a.items, b.items, mergeShapes),
    ...either("object", a.object, b.object, mergeObjects),
  };
}

function either<Name extends string, Value>(
  name: Name,
  a: Value | undefined,
  b: Value | undefined,
  both: (a: Value, b: Value) => Value,
): { [key in Name]?: Value } {
  if (a === undefined && b === undefined) return {};
  const value = a === undefined ? b : b === undefined ? a : both(a, b);
  return { [name]: value } as { [key in Name]?: Value };
}

function mergeStrings(a: StringShape, b: StringShape): StringShape {
  const format = a.format === b.format ? a.format : "plain";
  if (a.choices === undefined || b.choices === undefined) return { format };
  const choices = [...new Set([...a.choices, ...b.choices])].sort(byCodeUnit);
  return choices.length > MAX_CHOICES ? { format } : { format, choices };
}

function mergeObjects(a: ObjectShape, b: ObjectShape): ObjectShape {
  const members = new Map(a.members);
  for (const [name, shape] of b.members) {
    const known = members.get(name);
    members.set(name, known === undefined ? shape : mergeShapes(known, shape));
  }
  const rest = either("rest", a.rest, b.rest, mergeShapes);
  const merged = { seen: a.seen + b.seen, members, ...rest };
  return a.isMap || b.isMap || members.size > MAX_MEMBERS ? asMap(merged) : merged;
}

/** The same object when its names are data. */
export function asMap({ seen, members, rest }: ObjectShape): ObjectShape {
  const values = [...members.values()].reduce(mergeShapes, rest ?? NOTHING);
  return { seen, members: new Map(), rest: values, isMap: true };
}
