import { isObject } from "../../../base/json.ts";
import { EXTRACT_NAME } from "../../../protocol/tool-names.ts";

/** The JSON Schema that a type in a program stands for. */
type Schema = Record<string, unknown>;

const WORDS: Readonly<Record<string, Schema>> = {
  string: { type: "string" },
  number: { type: "number" },
  integer: { type: "integer" },
  boolean: { type: "boolean" },
  null: { type: "null" },
  date: { type: "string", format: "date" },
  datetime: { type: "string", format: "date-time" },
  any: {},
};

const KNOWN =
  "string, number, integer, boolean, null, date, datetime, any, a text in quotes ('open' | 'closed'), or one of these with [] behind it";

const MAX_DEPTH = 32;

/** Makes the function with which a program coerces a text to a type. @param callTool the function that programs have. */
export function makeExtract(
  callTool: (name: string, args: object) => Promise<unknown>,
): (value: unknown, type: unknown) => Promise<unknown> {
  return async (value, type) => {
    if (value === undefined) throw new TypeError("extract: there is no value; it is undefined");
    return callTool(EXTRACT_NAME, { value, schema: schemaOf(type) });
  };
}

/**
 * The JSON Schema of a type: a word (`"string"`), a list with the type of its items (`["string"]`), an object with the types of
 * its members (`{ name: "string", "phone?": "string" }`), or a ready JSON Schema of an object or an array.
 *
 * @throws TypeError for anything else.
 */
export function schemaOf(type: unknown, place = "type", depth = 0): Schema {
  if (depth > MAX_DEPTH) throw new TypeError(`extract: ${place} nests deeper than ${MAX_DEPTH} levels`);
  if (typeof type === "string") return schemaOfText(type, place);
  if (Array.isArray(type)) {
    if (type.length !== 1)
      throw new TypeError(`extract: ${place} is a list; write one type in it, that of the items: ["string"]`);
    return { type: "array", items: schemaOf(type[0], `${place}[0]`, depth + 1) };
  }
  if (!isObject(type))
    throw new TypeError(`extract: ${place} is no type; write "string", ["string"] or { name: "string" }`);
  if (isJsonSchema(type)) return type;
  const members = Object.entries(type).map(([written, each]) => {
    const isOptional = written.endsWith("?");
    const name = isOptional ? written.slice(0, -1) : written;
    return { name, isOptional, schema: schemaOf(each, `${place}.${name}`, depth + 1) };
  });
  return {
    type: "object",
    properties: Object.fromEntries(members.map(({ name, schema }) => [name, schema])),
    required: members.flatMap(({ name, isOptional }) => (isOptional ? [] : [name])),
    additionalProperties: false,
  };
}

/** `object` and `array` are not type words, so no object with a member `type` is mistaken for a schema. */
function isJsonSchema({ type }: Record<string, unknown>): boolean {
  return type === "object" || type === "array";
}

/** The schema of a text with types, separated by `|`. */
function schemaOfText(text: string, place: string): Schema {
  const parts = text.split("|").map((part) => part.trim());
  const literals = parts.map((part) => /^(["'])(.*)\1$/s.exec(part)?.[2]);
  const others = parts.filter((_, index) => literals[index] === undefined);
  const values = literals.filter((each) => each !== undefined);
  const schemas = [
    ...(values.length === 0 ? [] : [{ type: "string", enum: values }]),
    ...others.map((part) => schemaOfWord(part, place)),
  ];
  const [first, another] = schemas;
  return another === undefined ? (first ?? {}) : { anyOf: schemas };
}

function schemaOfWord(word: string, place: string): Schema {
  if (word.endsWith("[]")) return { type: "array", items: schemaOfWord(word.slice(0, -2).trim(), place) };
  const known = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
  if (known === undefined)
    throw new TypeError(`extract: ${place} is '${word.slice(0, 64)}', which is no type; write ${KNOWN}`);
  return { ...known };
}
