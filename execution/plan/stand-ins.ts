import { randomBytes, randomInt } from "node:crypto";
import { isObject, writeJson } from "../../base/json.ts";
import { type Step, valueAt } from "../../broker/approvals/plan.ts";
import type { CallAnswer } from "../../broker/dispatcher.ts";
import type { Tool } from "../../catalog/tool.ts";
import { unwrapResult } from "../../catalog/wrapped-result.ts";

/** How deep and how large a stand-in is at most. What a schema has beyond is left out. */
const MAX_DEPTH = 12;
const MAX_VALUES = 2_000;
/** Marked numbers lie between these, so that they are in no text by chance. */
const LEAST_NUMBER = 10 ** 9;
const MOST_NUMBER = 2 ** 40;

/** Where a value of a stand-in came from: the number of a call of the rehearsal, and the place in its answer. */
export interface MarkedPlace {
  readonly call: number;
  readonly path: readonly Step[];
}

/** A value of a stand-in that is one of few: a truth value, or one of the choices of a schema. */
export interface Choice extends MarkedPlace {
  readonly is: string | number | boolean | null;
}

/**
 * Makes stand-ins: answers of a tool's type for calls that are not made. Each text and each number in them is one that occurs nowhere
 * else, so that it is known again where a program passes it on. Nothing in a stand-in says anything about a server.
 */
export class StandIns {
  /** The values of stand-ins, as texts. */
  readonly marks = new Map<string, MarkedPlace>();
  /** The values that were chosen among few, and may be others in real answers. */
  choices: Choice[] = [];
  /** Whether other stand-ins differ in more than names and numbers: in choices, or in how long a list is. */
  varies = false;
  readonly #isOther: boolean;
  readonly #isLate: boolean;
  #values = 0;
  #earlier: unknown;

  /**
   * @param isOther whether choices, truth values and lists are others than in the first stand-ins.
   * @param isLate whether they stand for what late reads bring: a text of prose has numbers and an address in it, as a message with a
   *   code or a link has, and there is no next page.
   */
  constructor(isOther: boolean, isLate = false) {
    this.#isOther = isOther;
    this.#isLate = isLate;
  }

  /**
   * The answer to a call that is not made.
   *
   * @param earlier an answer of the tool in this run, whose shape counts if the tool has no type.
   */
  answer(tool: Tool, call: number, earlier?: unknown): CallAnswer {
    this.#earlier = tool.unwraps === true ? undefined : earlier;
    const structured = this.#of(schemaOf(tool), tool.outputSchema ?? tool.learned?.schema, earlier, {
      call,
      path: [],
    });
    const data =
      tool.unwraps === true && tool.outputSchema !== undefined ? unwrapResult(structured) : structured;
    if (data !== structured) this.#replacePaths(call, data);
    const text = typeof structured === "string" ? structured : JSON.stringify(structured);
    const raw = {
      content: [{ type: "text", text }],
      ...(isObject(structured) ? { structuredContent: structured } : {}),
    };
    return { ok: true, data, raw, bytes: Buffer.byteLength(text) };
  }

  /** Whether a stand-in's value is in a text or a value. */
  isIn(value: unknown): boolean {
    if (this.marks.size === 0) return false;
    const text = writeJson(value) ?? "";
    for (const mark of this.marks.keys()) if (text.includes(mark)) return true;
    return false;
  }

  #of(schema: unknown, root: unknown, earlier: unknown, place: MarkedPlace): unknown {
    const { path } = place;
    if (path.length > MAX_DEPTH || ++this.#values > MAX_VALUES) return null;
    if (schema === undefined)
      return earlier === undefined ? this.#text("", place) : this.#like(earlier, place);
    const resolved = resolveReference(schema, root);
    if (!isObject(resolved)) return this.#text("", place);
    const { properties, items, prefixItems, anyOf, oneOf, allOf, type } = resolved;
    if ("const" in resolved) return resolved.const;
    if (Array.isArray(resolved.enum)) return this.#choice(resolved.enum as unknown[], place);
    const choices = [anyOf, oneOf].find((each) => Array.isArray(each)) as unknown[] | undefined;
    if (this.#isLate && (choices?.some((each) => isObject(each) && each.type === "null") || isNullable(type)))
      return null;
    if (choices !== undefined) {
      const some = choices.filter((each) => !(isObject(each) && each.type === "null"));
      return this.#of(some[0] ?? {}, root, undefined, place);
    }
    if (Array.isArray(allOf) && allOf.length > 0) {
      const parts = allOf.map((each) => this.#of(each, root, undefined, place));
      const objects = parts.filter(isObject);
      return objects.length === 0 ? parts[0] : Object.assign({}, ...objects);
    }
    const own = Array.isArray(type) ? (type.find((each) => each !== "null") as unknown) : type;
    if (own === "object" || isObject(properties)) {
      const members = isObject(properties) ? Object.entries(properties) : [];
      return Object.fromEntries(
        members
          .filter(([name]) => name !== "__proto__" && !(this.#isLate && isNextPage(name, resolved.required)))
          .map(([name, member]) => [
            name,
            this.#of(member, root, undefined, { ...place, path: [...path, name] }),
          ]),
      );
    }
    if (own === "array") {
      const at = (index: number) => ({ ...place, path: [...path, index] });
      if (Array.isArray(prefixItems))
        return prefixItems.map((each, index) => this.#of(each, root, undefined, at(index)));
      const least = typeof resolved.minItems === "number" ? Math.min(resolved.minItems, 20) : 1;
      const count = Math.max(least, this.#isOther ? 2 : 1);
      this.varies = true;
      return Array.from({ length: count }, (_, index) => this.#of(items ?? {}, root, undefined, at(index)));
    }
    if (own === "integer" || own === "number") return this.#number(resolved, place);
    if (own === "boolean") return this.#choice([isLikely(path), !isLikely(path)], place);
    if (own === "null") return null;
    const digits = typeof resolved.pattern === "string" ? digitsOf(resolved.pattern) : undefined;
    if (digits !== undefined) return this.#digits(digits, place);
    return this.#text(typeof resolved.format === "string" ? resolved.format : "", place);
  }

  /** A value of the shape of another. */
  #like(earlier: unknown, place: MarkedPlace): unknown {
    const { path } = place;
    if (path.length > MAX_DEPTH || ++this.#values > MAX_VALUES) return null;
    if (Array.isArray(earlier))
      return earlier
        .slice(0, 1)
        .map((item: unknown, index) => this.#like(item, { ...place, path: [...path, index] }));
    if (isObject(earlier))
      return Object.fromEntries(
        Object.entries(earlier)
          .filter(([name]) => name !== "__proto__")
          .map(([name, member]) => [name, this.#like(member, { ...place, path: [...path, name] })]),
      );
    if (typeof earlier === "number") return this.#number({}, place);
    if (typeof earlier === "boolean") return this.#choice([earlier, !earlier], place);
    return earlier === null ? null : this.#text("", place);
  }

  /** One of some values: what the tool answered there before, else the first one. @param choices the likeliest first. */
  #choice(choices: readonly unknown[], place: MarkedPlace): unknown {
    const before = valueAt(this.#earlier, place.path);
    const likely = choices.find((each) => each === before) ?? choices[0];
    const others = choices.filter((each) => each !== likely);
    const chosen = this.#isOther && others.length > 0 ? others.at(-1) : likely;
    if (others.length > 0) this.varies = true;
    if (others.length > 0 && isChoice(chosen)) this.choices.push({ ...place, is: chosen });
    return chosen;
  }

  #number({ minimum, maximum, multipleOf }: Readonly<Record<string, unknown>>, place: MarkedPlace): number {
    const least = typeof minimum === "number" ? minimum : Number.NEGATIVE_INFINITY;
    const most = typeof maximum === "number" ? maximum : Number.POSITIVE_INFINITY;
    const drawn = randomInt(LEAST_NUMBER, MOST_NUMBER);
    const isFree = drawn >= least && drawn <= most && multipleOf === undefined;
    if (isFree) this.marks.set(String(drawn), place);
    return isFree ? drawn : Number.isFinite(least) ? Math.ceil(least) : Math.floor(Math.min(most, 0));
  }

  #digits(count: number, place: MarkedPlace): string {
    const text = Array.from({ length: count }, () => randomInt(1, 10)).join("");
    this.marks.set(text, place);
    return text;
  }

  /** Prose of which a program may take a code or a link. */
  #prose(place: MarkedPlace): string {
    // A run of digits in the word would be taken for the code.
    const word = `standin-${Array.from({ length: 6 }, () => `${"abcdefgh"[randomInt(8)]}${randomInt(10)}`).join("")}`;
    const code = this.#digits(6, place);
    this.marks.set(word, place);
    return `${word} ${code} ${randomInt(1_000, 10_000)} https://example.invalid/${word}`;
  }

  #text(format: string, place: MarkedPlace): string {
    const name = place.path.at(-1);
    if (this.#isLate && format === "" && typeof name === "string" && PROSE.test(name))
      return this.#prose(place);
    const word = `standin-${randomBytes(8).toString("hex")}`;
    const text = textOfFormat(format, word, randomInt(10 ** 8));
    this.marks.set(text, place);
    return text;
  }

  /** The places of a call's values, when the program gets only a member of the answer. */
  #replacePaths(call: number, data: unknown): void {
    const within = ({ path }: MarkedPlace) => (data === undefined ? path : path.slice(1));
    for (const [mark, place] of this.marks)
      if (place.call === call) this.marks.set(mark, { call, path: within(place) });
    this.choices = this.choices.map((each) => (each.call === call ? { ...each, path: within(each) } : each));
  }
}

function isChoice(value: unknown): value is Choice["is"] {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

/** Members that are true where something went wrong, or is left. */
const UNLIKELY =
  /err|fail|invalid|denied|reject|missing|conflict|timed?_?out|more|truncat|incomplete|partial|skip|duplicat|dry/i;

/** Whether a truth value is rather true, by the name of its member. */
function isLikely(path: readonly Step[]): boolean {
  const name = path.findLast((step) => typeof step === "string");
  return name === undefined || !UNLIKELY.test(name);
}

/** Members that hold prose. */
const PROSE = /text|body|content|message|snippet|html|description|subject/i;

function isNullable(type: unknown): boolean {
  return Array.isArray(type) && type.includes("null");
}

/** Whether a member that may be missing names the next page of a list. */
function isNextPage(name: string, required: unknown): boolean {
  const isRequired = Array.isArray(required) && required.includes(name);
  return !isRequired && /next|cursor|token|continuation/i.test(name);
}

/** How many digits a pattern asks for that asks for nothing else. */
function digitsOf(pattern: string): number | undefined {
  const [, count] = /^\^(?:\\d|\[0-9\])\{(\d{1,2})\}\$$/.exec(pattern) ?? [];
  return count === undefined ? undefined : Math.min(Number(count), 32);
}

function textOfFormat(format: string, word: string, drawn: number): string {
  switch (format) {
    case "email":
      return `${word}@example.invalid`;
    case "uri":
    case "url":
      return `https://example.invalid/${word}`;
    case "date-time":
      return new Date(drawn * 1_000).toISOString();
    case "date":
      return new Date(drawn * 10_000).toISOString().slice(0, 10);
    case "uuid": {
      const hex = randomBytes(16).toString("hex");
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
    }
    default:
      return word;
  }
}

function schemaOf({ outputSchema, learned }: Tool): unknown {
  return outputSchema ?? learned?.schema;
}

/** Follows references within a schema, as far as they lead somewhere. */
function resolveReference(schema: unknown, root: unknown): unknown {
  let at = schema;
  for (let step = 0; step < MAX_DEPTH && isObject(at) && typeof at.$ref === "string"; step++) {
    const { $ref } = at;
    if (!$ref.startsWith("#")) return {};
    let found: unknown = root;
    for (const name of $ref.slice(1).split("/").filter(Boolean)) {
      const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
      found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
    }
    at = found;
  }
  return at;
}
