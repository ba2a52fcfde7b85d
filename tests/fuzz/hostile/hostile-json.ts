import type { Random } from "../random.ts";
import { hostileText } from "./hostile-text.ts";
import { LISTS } from "./words.ts";

const NUMBERS = [...LISTS.numbers, `1${"0".repeat(400)}`, `-${"9".repeat(309)}`, `0.${"0".repeat(400)}1`];

const BROKEN = LISTS.brokenJson;

const KEYS = LISTS.keys;

interface JsonShape {
  /** Chance of a piece that is no JSON. */
  broken?: number;
  /** Levels that are made one by one. */
  levels?: number;
  /** Levels of a value that is nothing but deep. */
  deepest?: number;
  /** Items of a value that is nothing but long. */
  longest?: number;
}

/** One JSON text, or with `broken` at times nearly one. */
export function hostileJson(random: Random, shape: JsonShape = {}): string {
  const { broken = 0, levels = 4, deepest = 300, longest = 300 } = shape;
  if (random.chance(broken)) return random.pick(BROKEN);
  if (random.chance(0.02)) return deepJson(random, random.size(deepest));
  if (random.chance(0.02)) return `[${random.pick(NUMBERS)}${",[]".repeat(random.size(longest))}]`;
  const inner = () => hostileJson(random, { ...shape, levels: levels - 1 });
  const space = random.chance(0.1) ? random.pick([" ", "\n", "\r\n\t", "    "]) : "";
  switch (levels <= 0 ? random.below(4) : random.below(8)) {
    case 0:
      return random.pick(NUMBERS);
    case 1:
      return random.pick(["null", "true", "false"]);
    case 2:
    case 3:
      return hostileString(random, hostileText(random));
    case 4:
    case 5:
      return `[${space}${random.list(random.size(6), inner).join(`,${space}`)}]`;
    default:
      return `{${space}${random
        .list(random.size(6), () => `${hostileKey(random)}${space}:${space}${inner()}`)
        .join(`,${space}`)}}`;
  }
}

/** Arrays and objects within each other. */
export function deepJson(random: Random, levels: number, leaf = "1"): string {
  const pair = random.pick([
    ["[", "]"],
    ['{"a":', "}"],
    ['[{"__proto__":', "}]"],
  ] as const);
  return pair[0].repeat(levels) + leaf + pair[1].repeat(levels);
}

/** A JSON string, its characters escaped in one of the ways that there are. */
export function hostileString(random: Random, text: string): string {
  const json = JSON.stringify(text);
  if (random.chance(0.8)) return json;
  return `"${Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")}"`;
}

function hostileKey(random: Random): string {
  return hostileString(random, random.chance(0.7) ? random.pick(KEYS) : hostileText(random, 2));
}

/**
 * An object of these members, given as JSON texts. At times one is missing, is there twice, has another value or another
 * name, or there is one more.
 */
export function hostileObject(
  random: Random,
  members: readonly (readonly [name: string, json: string])[],
  damage = 0.3,
): string {
  const printed = members.map(([name, json]) => `${JSON.stringify(name)}:${json}`);
  if (random.chance(damage)) {
    const at = random.below(printed.length);
    const [name = "", json = "null"] = members[at] ?? [];
    switch (random.below(6)) {
      case 0:
        printed.splice(at, 1);
        break;
      case 1:
        printed.push(`${JSON.stringify(name)}:${json}`);
        break;
      case 2:
        printed[at] = `${JSON.stringify(name)}:${hostileJson(random, { levels: 2 })}`;
        break;
      case 3:
        printed[at] = `${hostileKey(random)}:${json}`;
        break;
      case 4:
        printed.push(`${hostileKey(random)}:${hostileJson(random, { levels: 2 })}`);
        break;
      default:
        return `{${random.shuffled(printed).join(random.pick([",", ", ", " ,\n"]))}}`;
    }
  }
  return `{${printed.join(",")}}`;
}
