import { memberPath } from "../../broker/flow/folded-text.ts";
import { type Variation, vary } from "./vary.ts";

/** Replaces the values of the parts of an answer that carry labels, and leaves the others. Parts are named by their paths. */
export function varyParts(
  value: unknown,
  variation: Variation,
  isLabelled: (path: string) => boolean,
  path = "",
): unknown {
  if (Array.isArray(value))
    return value.map((each, index) => varyParts(each, variation, isLabelled, `${path}[${index}]`));
  if (typeof value !== "object" || value === null) return isLabelled(path) ? vary(value, variation) : value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const own = memberPath(path, name);
      const [varied = name] = isLabelled(own) ? Object.keys(vary({ [name]: 0 }, variation) as object) : [];
      return [varied, varyParts(member, variation, isLabelled, own)];
    }),
  );
}
