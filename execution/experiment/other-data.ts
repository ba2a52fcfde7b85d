import { isObject, readJson, writeJson } from "../../base/json.ts";
import { Chance } from "./chance.ts";
import { type ProgramWords, textMatching } from "./program-words.ts";

/**
 * Random data of the same types as the answers of tools.
 *
 * The text of a stranger is not changed here but left out. Only types are learned from it, of all answers of a tool and all items of a
 * list together. Everything else is drawn anew. So nothing that a program can see of other data says what the stranger wrote: not the
 * letters, their case, signs, scripts and invisible characters; not the lengths of texts and lists, nor orders; not numbers, their signs
 * and digits, dates and truth values; not which members are empty or missing, nor the names of those that the program does not name.
 *
 * The program's own words, and values of data without the labels in question, may be in it by chance, so that the program finds what it
 * looks for and goes on.
 */
export interface OtherDataOptions {
  /** Each seed gives other data. */
  readonly seed: number;
  readonly words: ProgramWords;
  /** Values of data that stays as it is. */
  readonly known: readonly string[];
  /** The shortest list has more items than these. */
  readonly minItems: number;
  /** Whether members that a program may ask for are missing, and others are there, by chance. */
  readonly isWild: boolean;
  /** Whether something is by chance in lists that were empty, because that may be why a call is made. */
  readonly isOfAbsence?: boolean;
  /** The shapes of all members that the program names, if which of them are there, and their types, are drawn by chance as well. */
  readonly mixed?: readonly Shape[] | undefined;
}

/** The form of a text, which programs rely on when they parse it. */
type Form =
  | "empty"
  | "date"
  | "moment"
  | "mailbox"
  | "address"
  | "link"
  | "uuid"
  | "number"
  | "path"
  | "json"
  | "id"
  | "word"
  | "words"
  | "text";

/** The types of values at one place. */
export interface Shape {
  readonly forms: Set<Form>;
  hasNull: boolean;
  hasInteger: boolean;
  hasFraction: boolean;
  hasBigInteger: boolean;
  hasTruth: boolean;
  /** Values of the program's and of other data that were seen here, whole or as a part. */
  readonly seen: Map<string, "whole" | "start" | "end" | "inside">;
  readonly seenNumbers: Set<number>;
  /** One value, and how many there were: of a single one the other data has the opposite. */
  count: number;
  single: unknown;
  items: Shape | undefined;
  /** Of texts that hold JSON. */
  inside: Shape | undefined;
  members: Map<string, { shape: Shape; count: number }> | undefined;
  objects: number;
  /** The shape of members whose names the program does not have. */
  others: Shape | undefined;
}

export function newShape(): Shape {
  return {
    forms: new Set(),
    seen: new Map(),
    seenNumbers: new Set(),
    count: 0,
    single: undefined,
    hasNull: false,
    hasInteger: false,
    hasFraction: false,
    hasBigInteger: false,
    hasTruth: false,
    items: undefined,
    inside: undefined,
    members: undefined,
    others: undefined,
    objects: 0,
  };
}

/** The members that a program names, at any depth. */
export function namedMembers(shape: Shape): { name: string; shape: Shape }[] {
  const found: { name: string; shape: Shape }[] = [];
  const open = [shape];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const named = [...(next.members ?? [])].map(([name, { shape: own }]) => ({ name, shape: own }));
    found.push(...named);
    const parts = [next.items, next.inside, next.others].filter((each) => each !== undefined);
    open.push(...named.map(({ shape: own }) => own), ...parts);
  }
  return found;
}

/**
 * The most bits that a program can learn from which of the members that it names are there, and of which type each is. Other data keeps
 * both, mostly, so that programs find what they need.
 *
 * @param absent how many names of the program are no member's.
 */
export function bitsOfTypes(named: readonly Shape[], absent: number): number {
  const kinds = new Set(named.map(kindOf)).size;
  let ways = named.length * Math.log2(Math.max(1, kinds));
  for (let at = 0; at < Math.min(named.length, absent); at++)
    ways += Math.log2((named.length + absent - at) / (at + 1));
  return ways;
}

function kindOf({ forms, items, members, others, inside, ...own }: Shape): string {
  const { hasNull, hasInteger, hasFraction, hasBigInteger, hasTruth } = own;
  return [
    [...forms].sort(),
    [hasNull, hasInteger, hasFraction, hasBigInteger, hasTruth],
    items === undefined ? "" : items.count > 0,
    [members !== undefined, others !== undefined, inside !== undefined, own.objects > 0],
  ].join(";");
}

const MAX_MIXED_DEPTH = 3;
const MAX_MIXED_NAMES = 2_000;
const MAX_DEPTH = 60;
const MAX_LEARNED_ITEMS = 300;
const MAX_SEEN = 40;
const MAX_KNOWN = 500;
/** From so many members on that a program names, an object is a table in which any of them may be missing. */
const MIN_TABLE_MEMBERS = 8;
const MISSING_CHANCE = 0.12;
const MAX_NAMES_ADDED = 48;
const POOL = 5;

/** Learns the types of a value. */
export function learn(
  shape: Shape,
  value: unknown,
  words: ProgramWords,
  known: readonly string[],
  depth = 0,
): void {
  if (depth > MAX_DEPTH) return;
  shape.count++;
  shape.single = value;
  if (typeof value === "string") learnText(shape, value, words, known, depth);
  else if (typeof value === "number") {
    if (Number.isInteger(value)) shape.hasInteger = true;
    else shape.hasFraction = true;
    if (words.numbers.includes(value)) shape.seenNumbers.add(value);
  } else if (typeof value === "bigint") shape.hasBigInteger = true;
  else if (typeof value === "boolean") shape.hasTruth = true;
  else if (value === null || value === undefined) shape.hasNull = true;
  else if (Array.isArray(value)) {
    shape.items ??= newShape();
    for (const item of value.slice(0, MAX_LEARNED_ITEMS)) learn(shape.items, item, words, known, depth + 1);
  } else if (typeof value === "object") {
    shape.objects++;
    shape.members ??= new Map();
    for (const [name, member] of Object.entries(value)) {
      if (!words.names.has(name)) {
        shape.others ??= newShape();
        learn(shape.others, member, words, known, depth + 1);
        continue;
      }
      const own = shape.members.get(name) ?? { shape: newShape(), count: 0 };
      own.count++;
      shape.members.set(name, own);
      learn(own.shape, member, words, known, depth + 1);
    }
  }
}

function learnText(
  shape: Shape,
  text: string,
  words: ProgramWords,
  known: readonly string[],
  depth: number,
): void {
  const parsed = parsedJson(text);
  if (parsed !== undefined) {
    shape.inside ??= newShape();
    learn(shape.inside, parsed, words, known, depth + 1);
    shape.forms.add("json");
    return;
  }
  shape.forms.add(formOf(text));
  if (text.length > 400 || shape.seen.size >= MAX_SEEN) return;
  for (const each of words.texts) {
    if (each.length > text.length || !text.includes(each) || !/[\p{L}\p{N}]/u.test(each)) continue;
    const place =
      each === text ? "whole" : text.startsWith(each) ? "start" : text.endsWith(each) ? "end" : "inside";
    shape.seen.set(each, place);
  }
  if (known.includes(text)) shape.seen.set(text, "whole");
}

function parsedJson(text: string): unknown {
  if (!/^\s*(?:[{[]|"\{)/.test(text)) return undefined;
  try {
    return readJson(text);
  } catch {
    return undefined;
  }
}

function formOf(text: string): Form {
  if (text.trim() === "") return "empty";
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return "date";
  if (/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/.test(text)) return "moment";
  if (/^[^<>]*<[^<>\s]+@[^<>\s]+>$/.test(text)) return "mailbox";
  if (/^[^\s@]+@[^\s@]+$/.test(text)) return "address";
  if (/^[a-z][a-z0-9+.-]*:\/\/\S+$/i.test(text)) return "link";
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return "uuid";
  if (/^[-+]?\d+(?:\.\d+)?$/.test(text)) return "number";
  if (/^[^\s]*\/[^\s]*$/.test(text)) return "path";
  if (/\n/.test(text) || text.length > 80) return "text";
  if (/\s/.test(text)) return "words";
  return /^\p{L}+$/u.test(text) ? "word" : "id";
}

const CONSONANTS = [..."bcdfghjklmnprstvwz"];
const VOWELS = [..."aeiou"];
const SIGNS = [
  ".",
  ",",
  "!",
  "?",
  ":",
  ";",
  " -",
  "...",
  "/",
  "#",
  "_",
  "*",
  "\u200b",
  "\u{1f642}",
  "\u0661",
];

/** Other data for one run of a program. */
export class OtherData {
  readonly #chance: Chance;
  readonly #options: OtherDataOptions;
  readonly #ids: readonly string[];
  readonly #numbers: readonly number[];
  readonly #known: readonly string[];
  /** Names of members that a program may ask for, which all or no objects have. */
  readonly #added: readonly string[];

  constructor(options: OtherDataOptions) {
    this.#options = options;
    const chance = new Chance(`other data ${options.seed}`);
    this.#chance = chance;
    this.#ids = chance.list(POOL, () => this.#id());
    this.#numbers = chance.list(POOL, () => chance.between(11, 99_999));
    this.#known = options.known.slice(0, MAX_KNOWN);
    const quoted = options.words.texts.filter((text) => /^[A-Za-z_$][\w$-]{0,40}$/.test(text));
    const read = [...options.words.names];
    this.#added = options.isWild
      ? chance.shuffled([...new Set([...quoted, ...read])]).slice(0, MAX_NAMES_ADDED)
      : [];
  }

  /** Another value of these types. */
  of(shape: Shape, name = "", index?: number, depth = 0): unknown {
    const makers: (() => unknown)[] = [];
    const chance = this.#chance;
    const { isWild } = this.#options;
    if (shape.forms.size > 0) makers.push(() => this.#textOf(shape, name, index, depth));
    if (shape.hasInteger) makers.push(() => this.#integer(shape, name, index));
    if (shape.hasFraction) makers.push(() => this.#signed(chance.between(1, 99_999) / 100 + 0.005, shape));
    if (shape.hasBigInteger) makers.push(() => BigInt(chance.between(1, 2 ** 31)) * 9_007_199_254_740_993n);
    if (shape.hasTruth) makers.push(() => this.#truth(shape));
    if (shape.items !== undefined) makers.push(() => this.#list(shape.items as Shape, name, depth));
    if (shape.members !== undefined) makers.push(() => this.#object(shape, depth));
    // Where only nothing was, something may be, and the other way round only where both were.
    if (shape.hasNull) makers.push(() => null);
    if (makers.length === 1 && shape.hasNull && isWild && chance.is(0.5)) return this.#words(1, 3);
    return makers.length === 0 ? null : chance.pick(makers)();
  }

  oneOf<T>(items: readonly T[]): T {
    return this.#chance.pick(items);
  }

  /** What may be where nothing was: a text, or an object with some of the names that the program asks for. */
  something(): unknown {
    const chance = this.#chance;
    if (chance.is(0.5)) return this.#words(1, 3);
    const names = chance.shuffled([...this.#options.words.asked]).slice(0, MAX_NAMES_ADDED);
    return Object.fromEntries(names.map((name) => [name, this.#word()]));
  }

  /** Another text of the words of a message. */
  message(): string {
    return this.#prose(1);
  }

  #list(items: Shape, name: string, depth: number): unknown[] {
    const { isOfAbsence = false } = this.#options;
    const chance = this.#chance;
    if (items.count === 0)
      return isOfAbsence && chance.is(0.5) ? chance.list(chance.between(1, 3), () => this.something()) : [];
    const { minItems } = this.#options;
    const least = depth === 0 ? minItems + 1 : Math.min(minItems, 2) + 1;
    const length =
      depth < 3
        ? this.#chance.between(Math.max(least, POOL), Math.max(least, POOL) + 6)
        : this.#chance.between(1, 3);
    const at = this.#chance.between(0, POOL - 1);
    return this.#chance.list(length, (index) => this.of(items, name, index + at, depth + 1));
  }

  /** An object that has half of the names of a program, with members of any of the types that named members have. */
  #mixed(mixed: readonly Shape[], depth: number): unknown {
    const chance = this.#chance;
    const most = depth === 0 ? MAX_MIXED_NAMES : POOL * (MAX_MIXED_DEPTH - depth);
    const names = chance.shuffled([...this.#options.words.asked]).slice(0, Math.max(0, most));
    return Object.fromEntries(
      names
        .filter(() => chance.is(0.5))
        .map((name) => [name, this.of(chance.pick(mixed), name, undefined, depth + 1)]),
    );
  }

  #object(shape: Shape, depth: number): unknown {
    const chance = this.#chance;
    const { mixed = [] } = this.#options;
    if (mixed.length > 0) return this.#mixed(mixed, depth);
    const { isWild } = this.#options;
    const members = [...(shape.members ?? [])];
    const isTable = members.length >= MIN_TABLE_MEMBERS;
    const made: [string, unknown][] = [];
    for (const [name, { shape: own, count }] of members) {
      const missing = isTable && isWild ? 0.5 : count < shape.objects ? 0.5 : isWild ? MISSING_CHANCE : 0;
      if (!chance.is(missing)) made.push([name, this.of(own, name, undefined, depth + 1)]);
    }
    if (shape.others !== undefined)
      for (let more = chance.between(1, 6); more > 0; more--)
        made.push([
          chance.is(0.5) ? this.#id() : this.#word(),
          this.of(shape.others, "", undefined, depth + 1),
        ]);
    for (const name of this.#added)
      if (shape.members?.has(name) !== true && chance.is(0.5))
        made.push([name, chance.is(0.5) ? this.#word() : this.#integer(shape, "", undefined)]);
    return Object.fromEntries(chance.shuffled(made));
  }

  #truth({ count, single }: Shape): boolean {
    const isSingle = count === 1 && typeof single === "boolean";
    return isSingle && this.#options.seed === 2 ? !single : this.#chance.is(0.5);
  }

  #integer(shape: Shape, name: string, index: number | undefined): number {
    const chance = this.#chance;
    if (isReference(name) && chance.is(0.7))
      return this.#numbers[(index ?? chance.between(0, POOL - 1)) % POOL] ?? 1;
    const seen = [...shape.seenNumbers];
    if (seen.length > 0 && chance.is(0.4))
      return chance.pick(chance.is(0.5) ? seen : this.#options.words.numbers);
    const made = this.#signed(Math.floor(10 ** (chance.fraction() * 5)), shape);
    const { count, single } = shape;
    const isSameParity =
      count === 1 && typeof single === "number" && Math.abs(single % 2) === Math.abs(made % 2);
    return isSameParity && this.#options.seed === 2 ? made + Math.sign(made) : made;
  }

  /** Signs are by chance, and in one of the runs the opposite of what a single number has. */
  #signed(size: number, { count, single }: Shape): number {
    const isNegative =
      count === 1 && typeof single === "number" && this.#options.seed === 2
        ? single > 0
        : this.#chance.is(0.3);
    return isNegative ? -size : size;
  }

  #textOf(shape: Shape, name: string, index: number | undefined, depth: number): string {
    const chance = this.#chance;
    const form = chance.pick([...shape.forms]);
    if (form === "json") return writeJson(this.of(shape.inside ?? newShape(), name, undefined, depth + 1));
    if (form === "empty")
      return this.#options.isWild && shape.forms.size === 1 && chance.is(0.5) ? this.#words(1, 4) : "";
    if (form === "text" || form === "words") return this.#prose(form === "text" ? chance.between(6, 14) : 1);
    const { texts } = this.#options.words;
    const seen = [...shape.seen];
    if (seen.length > 0 && chance.is(0.5)) {
      const [text, place] = chance.pick(seen);
      // What was seen here is among what was not, so that neither says anything.
      const other = chance.is(0.5)
        ? text
        : chance.pick(
            place === "whole" && this.#known.includes(text) ? this.#known : texts.length > 0 ? texts : [text],
          );
      if (place === "whole") return other;
      const [before, after] = [this.#formed(form, name, index), this.#word()];
      return place === "start"
        ? other + after
        : place === "end"
          ? before.replace(/@.*$/, "") + other
          : after + other + this.#word();
    }
    const matching = this.#options.words.patterns;
    if (matching.length > 0 && (form === "id" || form === "word" || form === "path") && chance.is(0.3))
      return textMatching(chance.pick(matching), chance);
    return this.#formed(form, name, index);
  }

  #formed(form: Form, name: string, index: number | undefined): string {
    const chance = this.#chance;
    const two = (number: number) => String(number).padStart(2, "0");
    const date = () =>
      `${chance.between(1990, 2049)}-${two(chance.between(1, 12))}-${two(chance.between(1, 28))}`;
    if (isReference(name) && (form === "id" || form === "word") && chance.is(0.7))
      return this.#ids[(index ?? chance.between(0, POOL - 1)) % POOL] ?? "";
    switch (form) {
      case "date":
        return date();
      case "moment":
        return `${date()}T${two(chance.between(0, 23))}:${two(chance.between(0, 59))}:${two(chance.between(0, 59))}Z`;
      case "mailbox":
        return `${this.#words(1, 3)} <${this.#address()}>`;
      case "address":
        return this.#address();
      case "link":
        return `https://${this.#word()}.${this.#word()}/${chance.list(chance.between(0, 4), () => this.#word()).join("/")}${chance.is(0.3) ? `?${this.#word()}=${this.#id()}` : ""}`;
      case "uuid":
        return [8, 4, 4, 4, 12]
          .map((size) => chance.list(size, () => chance.between(0, 15).toString(16)).join(""))
          .join("-");
      case "number":
        return isReference(name) && chance.is(0.7)
          ? String(this.#numbers[(index ?? chance.between(0, POOL - 1)) % POOL])
          : `${chance.is(0.2) ? "-" : ""}${chance.list(chance.between(1, 8), () => chance.between(0, 9)).join("")}${chance.is(0.3) ? `.${chance.between(1, 99)}` : ""}`;
      case "path":
        return `${chance.is(0.5) ? "/" : ""}${chance.list(chance.between(1, 5), () => this.#word()).join("/")}${chance.is(0.5) ? `.${this.#word().slice(0, 3)}` : ""}`;
      case "id":
        return this.#id();
      default:
        return this.#word();
    }
  }

  #address(): string {
    return `${this.#word()}${this.#chance.is(0.3) ? `.${this.#word()}` : ""}@${this.#word()}.${this.#word()}`;
  }

  #id(): string {
    return `${this.#word()}${this.#chance.pick(["-", "_", "", "."])}${this.#chance.between(1, 99_999)}`;
  }

  #word(): string {
    const chance = this.#chance;
    const length = chance.between(2, 11);
    const word = chance
      .list(length, (index) => chance.pick((index + length) % 2 === 0 ? CONSONANTS : VOWELS))
      .join("");
    if (chance.is(0.25)) return word.slice(0, 1).toUpperCase() + word.slice(1);
    return chance.is(0.06) ? word.toUpperCase() : word;
  }

  #words(least: number, most: number): string {
    return this.#chance.list(this.#chance.between(least, most), () => this.#word()).join(" ");
  }

  /** Words, with some of what the program looks for between them. */
  #prose(lines: number): string {
    const chance = this.#chance;
    const { texts, patterns } = this.#options.words;
    const pieces = [
      ...chance.list(chance.between(2, 9) * Math.max(1, lines / 2), () => this.#word()),
      ...chance.list(chance.between(0, 4), () =>
        chance.is(0.5) ? String(chance.between(0, 9_999)) : this.#id(),
      ),
      ...texts.filter(() => chance.is(0.5)),
      ...patterns.filter(() => chance.is(0.7)).map((pattern) => textMatching(pattern, chance)),
      ...(chance.is(0.3) ? [this.#address()] : []),
      ...(chance.is(0.2) && this.#known.length > 0 ? [chance.pick(this.#known)] : []),
    ];
    const signed = chance
      .shuffled(pieces)
      .map((piece) => (chance.is(0.2) ? piece + chance.pick(SIGNS) : piece));
    return signed
      .map((piece, index) => (index === 0 ? piece : (lines > 1 && chance.is(0.2) ? "\n" : " ") + piece))
      .join("");
  }
}

/** Whether a member's name says that its value is found elsewhere, too. */
function isReference(name: string): boolean {
  return /(?:^|_)(?:id|key|number|uid|ref)$|Id$|Key$/.test(name);
}

/** The texts in a value that are alone. */
export function textsIn(value: unknown, most: number): string[] {
  const texts = new Set<string>();
  const open: unknown[] = [value];
  while (open.length > 0 && texts.size < most) {
    const next = open.pop();
    if (typeof next === "string") {
      if (next.length > 0 && next.length <= 100) texts.add(next);
    } else if (Array.isArray(next)) open.push(...next.slice(0, MAX_LEARNED_ITEMS));
    else if (isObject(next)) open.push(...Object.values(next).slice(0, MAX_LEARNED_ITEMS));
  }
  return [...texts];
}
