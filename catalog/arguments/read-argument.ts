import { ForeignJsonError, parseForeignJson } from "../../base/json/parse-json.ts";
import { MAX_CALL_FRAME_BYTES, MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { isAmong, type JsonType, jsonTypeOf, type ValueModel } from "./tool-parameters.ts";

/** A value that was read, or why the text is none, in words that follow the argument's name. */
export type ReadArgument = { ok: true; value: unknown } | { ok: false; why: string };

const MAX_CHOICES = 12;

/**
 * Reads one argument that was written as text, by its schema. Where only a string fits, the text is the string. Where none
 * fits, the text is JSON; one that is no list may be the only entry of one. Where both fit, or the schema does not say, text
 * that is JSON of another type is read as that, and any other as a string; a string can be put in JSON's quotes.
 */
export function readArgument(text: string, model: ValueModel): ReadArgument {
  const read = readTyped(text, model);
  if (!read.ok || model.choices === undefined || isChoice(read.value, model.choices)) return read;
  const shown = model.choices.slice(0, MAX_CHOICES).map((choice) => JSON.stringify(choice));
  const more = model.choices.length > MAX_CHOICES ? `, and ${model.choices.length - MAX_CHOICES} others` : "";
  return { ok: false, why: `must be one of ${shown.join(", ")}${more}` };
}

function readTyped(text: string, model: ValueModel): ReadArgument {
  const { types, items } = model;
  if (types?.size === 1 && types.has("string")) return { ok: true, value: text };
  const json = readJson(text);
  const isText = types === undefined || types.has("string");
  if (json.ok && fits(json.value, types)) {
    // Digits that a number cannot hold would be changed without a word.
    if (isExact(text, json.value)) return json;
    return isText
      ? { ok: true, value: text }
      : { ok: false, why: "is a number with more digits than JSON can carry exactly" };
  }
  if (isText) return { ok: true, value: text };
  if (types.has("array") && !text.trimStart().startsWith("[")) {
    const entry = readArgument(text, items ?? { types: undefined, choices: undefined, items: undefined });
    return entry.ok ? { ok: true, value: [entry.value] } : entry;
  }
  const why = json.ok || !isStructure(types) ? "" : ", as JSON";
  return { ok: false, why: `must be ${describeTypes(types)}${why}` };
}

/** What is written where a value is expected, in words: `an integer`, `a list or null`. */
export function describeTypes(types: ReadonlySet<JsonType>): string {
  const words = [...types].map((type) => WORDS[type]);
  return words.length === 0 ? "nothing that there is" : words.join(" or ");
}

const WORDS: Readonly<Record<JsonType, string>> = {
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  null: "null",
  array: "a list",
  object: "an object",
};

function fits(value: unknown, types: ReadonlySet<JsonType> | undefined): boolean {
  return types === undefined || isAmong(jsonTypeOf(value), types);
}

function isStructure(types: ReadonlySet<JsonType>): boolean {
  return types.has("array") || types.has("object");
}

function isChoice(value: unknown, choices: readonly unknown[]): boolean {
  const json = JSON.stringify(value);
  return choices.some((choice) => JSON.stringify(choice) === json);
}

function isExact(text: string, value: unknown): boolean {
  if (typeof value !== "number") return true;
  return Number.isFinite(value) && (!/^-?\d+$/.test(text.trim()) || Number.isSafeInteger(value));
}

function readJson(text: string): ReadArgument {
  try {
    return {
      ok: true,
      value: parseForeignJson(text, { maxBytes: MAX_CALL_FRAME_BYTES, maxDepth: MAX_NESTING_DEPTH }),
    };
  } catch (error) {
    if (!(error instanceof ForeignJsonError)) throw error;
    return { ok: false, why: error.message };
  }
}
