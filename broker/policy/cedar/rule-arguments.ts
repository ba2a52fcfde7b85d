/** The arguments of a call, as rules see them. */
export interface RuleArguments {
  /** By path: every text, number, truth value and null, as a text. */
  readonly texts: Readonly<Record<string, string>>;
  /** By path: every number, as a decimal of Cedar's. */
  readonly numbers: Readonly<Record<string, string>>;
  /** By path: every list that holds nothing but such values. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

const MAX_VALUES = 5_000;
const MAX_CHARS = 1_048_576;

/** The bounds of Cedar's `decimal`: a 64-bit number of ten-thousandths. */
const MAX_DECIMAL = 922_337_203_685_477;

/**
 * Lists the values in arguments by their paths. Different places have different paths, whatever the members are called.
 *
 * @returns `undefined` for more values, or longer ones, than rules can be asked about.
 */
export function listArguments(args: unknown): RuleArguments | undefined {
  const texts = new Map<string, string>();
  const numbers = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  let chars = 0;
  const open: [path: string, value: unknown][] = [["", args]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value] = next;
    const text = scalarText(value);
    chars += path.length + (text?.length ?? 0);
    if (texts.size + open.length + lists.size > MAX_VALUES || chars > MAX_CHARS) return undefined;
    if (text !== undefined) {
      texts.set(path, text);
      if (typeof value === "number") numbers.set(path, decimalOf(value));
    } else if (Array.isArray(value)) {
      if (value.length > MAX_VALUES) return undefined;
      const items = value.map(scalarText);
      if (items.every((item) => item !== undefined)) lists.set(path, items);
      for (const [index, item] of value.entries()) open.push([`${path}[${index}]`, item]);
    } else if (typeof value === "object" && value !== null) {
      const members = Object.entries(value);
      if (members.length > MAX_VALUES) return undefined;
      for (const [name, member] of members) open.push([memberPath(path, name), member]);
    }
  }
  return {
    texts: Object.fromEntries(texts),
    numbers: Object.fromEntries(numbers),
    lists: Object.fromEntries(lists),
  };
}

function memberPath(path: string, name: string): string {
  if (name === "" || /[.[\]"]/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return value === null || value === undefined ? "null" : undefined;
}

/** A number with four decimal places, rounded away from zero, so that none is taken for less than it is. */
function decimalOf(value: number): string {
  if (Math.abs(value) >= MAX_DECIMAL) return `${value < 0 ? "-" : ""}${MAX_DECIMAL}.0`;
  const near = value.toFixed(4);
  return Math.abs(Number(near)) >= Math.abs(value)
    ? near
    : (Number(near) + Math.sign(value) * 0.0001).toFixed(4);
}
