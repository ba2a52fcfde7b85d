import { isObject } from "../../base/json/is-object.ts";
import { isDataName } from "./data-names.ts";
import { mergeShapes } from "./merge-shapes.ts";
import { MAX_SHAPE_DEPTH, NOTHING, type Shape } from "./shape.ts";
import { formatOf } from "./text-format.ts";

/** Elements of one array that are looked at, evenly spread. */
const MAX_ELEMENTS = 200;

/** Members of one object that are looked at. */
const MAX_LOOKED_AT = 1_000;

/** Values within one value that are looked at. What comes after them is as if it were not there. */
const MAX_VALUES = 20_000;

/**
 * The shape of one JSON value, which nobody has bounded.
 *
 * @param words texts that the tool's definition lists as choices. No other text can become part of a shape.
 */
export function observeShape(value: unknown, words: ReadonlySet<string> = new Set()): Shape {
  let left = MAX_VALUES;
  const look = (each: unknown, depth: number): Shape => {
    left--;
    if (each === null || each === undefined) return { seen: 1, isNull: true };
    switch (typeof each) {
      case "boolean":
        return { seen: 1, isBoolean: true };
      case "number":
        return { seen: 1, number: Number.isInteger(each) ? "integer" : "number" };
      case "string": {
        const format = formatOf(each);
        return { seen: 1, string: words.has(each) ? { format, choices: [each] } : { format } };
      }
    }
    if (depth >= MAX_SHAPE_DEPTH) return { seen: 1, isAny: true };
    if (Array.isArray(each)) {
      const items = spread(each).reduce<Shape>(
        (before, item) => (left <= 0 ? before : mergeShapes(before, look(item, depth + 1))),
        NOTHING,
      );
      return { seen: 1, items };
    }
    return isObject(each) ? { seen: 1, object: lookInto(each, depth) } : { seen: 1, isAny: true };
  };
  const lookInto = (object: Record<string, unknown>, depth: number): NonNullable<Shape["object"]> => {
    const members = new Map<string, Shape>();
    let rest: Shape | undefined;
    let looked = 0;
    for (const name of Object.keys(object)) {
      if (left <= 0 || looked++ >= MAX_LOOKED_AT) break;
      const shape = look(object[name], depth + 1);
      if (isDataName(name)) rest = rest === undefined ? shape : mergeShapes(rest, shape);
      else members.set(name, shape);
    }
    const own = { seen: 1, members, ...(rest && { rest }) };
    // Merging makes a map of an object with too many names.
    const merged = mergeShapes(
      { seen: 1, object: own },
      { seen: 0, object: { seen: 0, members: new Map() } },
    );
    return merged.object ?? own;
  };
  return look(value, 0);
}

function spread(items: readonly unknown[]): readonly unknown[] {
  if (items.length <= MAX_ELEMENTS) return items;
  const step = items.length / MAX_ELEMENTS;
  return Array.from({ length: MAX_ELEMENTS }, (_, i) => items[Math.floor(i * step)]);
}
