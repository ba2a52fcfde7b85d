import { ForeignJsonError, isObject, numbersComeBack, parseForeignJson, writeJson } from "../base/json.ts";
import { MAX_CALL_FRAME_BYTES, MAX_NESTING_DEPTH } from "../protocol/limits.ts";
import { member, SchemaReferences } from "./model/schema-references.ts";

type JsonType = "string" | "number" | "integer" | "boolean" | "null" | "array" | "object";

const JSON_TYPES: ReadonlySet<string> = new Set<JsonType>([
  "string",
  "number",
  "integer",
  "boolean",
  "null",
  "array",
  "object",
]);

/** The facts about a value that its schema states. */
interface ValueModel {
  /** The types that it may have. `undefined` if the schema does not say. */
  readonly types: ReadonlySet<JsonType> | undefined;
  /** The only values that it may have, if the schema lists them. */
  readonly choices: readonly unknown[] | undefined;
  /** The type of its items, if it is a list and the schema describes them. */
  readonly items: ValueModel | undefined;
}

/** One argument of a tool. */
export interface Parameter extends ValueModel {
  readonly name: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly default: unknown;
}

/** The arguments of a tool that a person can write. The validator checks everything else in the schema. */
export interface ToolParameters {
  /** Required parameters first, otherwise in the order of the schema. */
  readonly parameters: readonly Parameter[];
  /** Whether other arguments are allowed. */
  readonly isOpen: boolean;
}

/** The most parts of a schema to visit, because schemas come from servers. */
const MAX_STEPS = 5_000;
const MAX_DEPTH = 16;

interface ReadSchema {
  readonly own: ToolParameters;
  /** Of its parameters. */
  readonly names: ReadonlySet<string>;
}

/** What was read of each schema. Every call of a tool asks for it. */
const READ = new WeakMap<object, ReadSchema>();

/** @param inputSchema any JSON, which nobody changes afterwards */
export function toolParameters(inputSchema: unknown): ToolParameters {
  return readSchema(inputSchema).own;
}

/**
 * Whether a schema mentions an argument of this name anywhere, references, alternatives and conditions included. Returns true for a
 * schema that is too large to search.
 *
 * @param inputSchema any JSON.
 */
export function mentionsArgument(inputSchema: unknown, name: string): boolean {
  return new SchemaReader(inputSchema).mentions(inputSchema, name);
}

function readSchema(inputSchema: unknown): ReadSchema {
  const known = isObject(inputSchema) ? READ.get(inputSchema) : undefined;
  if (known !== undefined) return known;
  const own = new SchemaReader(inputSchema).parameters(inputSchema);
  const read = { own, names: new Set(own.parameters.map(({ name }) => name)) };
  if (isObject(inputSchema)) READ.set(inputSchema, read);
  return read;
}

/** Keywords that do not change the meaning of an object without properties. */
const SAYS_NOTHING_MORE: ReadonlySet<string> = new Set([
  "$comment",
  "$defs",
  "$id",
  "$schema",
  "additionalProperties",
  "definitions",
  "description",
  "properties",
  "required",
  "title",
  "type",
]);

/**
 * Whether a tool has no arguments: its schema has an empty list of properties, as SDKs write it for a function without
 * parameters. `{"type": "object"}` has no list, and accepts any arguments (MCP 2025-11-25, "Tool").
 */
export function takesNothing(inputSchema: unknown): boolean {
  const properties = member(inputSchema, "properties");
  const required = member(inputSchema, "required") ?? [];
  const others = member(inputSchema, "additionalProperties") ?? false;
  if (!isObject(inputSchema) || !isObject(properties) || others !== false) return false;
  if (Object.keys(properties).length > 0 || !Array.isArray(required) || required.length > 0) return false;
  return Object.keys(inputSchema).every((keyword) => SAYS_NOTHING_MORE.has(keyword));
}

/**
 * Arguments without those that are null although their schema does not say that they may be: clients that send every argument send null for
 * those that they leave out. Required arguments stay.
 */
export function withoutNulls(inputSchema: unknown, args: unknown): unknown {
  if (!isObject(args)) return args;
  const { parameters } = toolParameters(inputSchema);
  const leftOut = new Set(
    parameters
      .filter(({ name, isRequired, types, choices }) => {
        const mayBeNull = types === undefined ? choices === undefined : types.has("null");
        return !isRequired && args[name] === null && !mayBeNull && choices?.includes(null) !== true;
      })
      .map(({ name }) => name),
  );
  return Object.fromEntries(Object.entries(args).filter(([name]) => !leftOut.has(name)));
}

/** A wrong name of an argument, and the parameter that it probably means. */
interface MisnamedArgument {
  name: string;
  meant: string | undefined;
}

/**
 * The first argument that its tool does not have. For a tool without arguments, that is any argument. For another tool, it is one
 * that differs from a missing parameter only by case, `_` or `-`. JSON Schema accepts both, and the call would then do something
 * that the caller did not mean.
 */
export function misnamedArgument(inputSchema: unknown, args: unknown): MisnamedArgument | undefined {
  if (!isObject(args)) return undefined;
  const names = Object.keys(args);
  if (names.length === 0) return undefined;
  if (takesNothing(inputSchema)) return { name: names[0] ?? "", meant: undefined };
  const { own, names: known } = readSchema(inputSchema);
  const { parameters, isOpen } = own;
  const strange = isOpen ? [] : names.filter((name) => !known.has(name));
  if (strange.length === 0) return undefined;
  const missing = new Map(
    parameters.filter(({ name }) => !Object.hasOwn(args, name)).map(({ name }) => [folded(name), name]),
  );
  for (const name of strange) {
    const meant = missing.get(folded(name));
    if (meant !== undefined) return { name, meant };
  }
  return undefined;
}

function folded(name: string): string {
  return name.replace(/[_-]/g, "").toLowerCase();
}

class SchemaReader {
  readonly #references: SchemaReferences;
  #steps = 0;

  constructor(root: unknown) {
    this.#references = new SchemaReferences(root);
  }

  parameters(schema: unknown): ToolParameters {
    const properties = new Map<string, unknown>();
    const required = new Set<string>();
    const openings: unknown[] = [];
    this.#collect(schema, 0, true, (part, isCertain) => {
      const own = member(part, "properties");
      if (isObject(own))
        for (const [name, value] of Object.entries(own))
          if (!properties.has(name)) properties.set(name, value);
      const needed = member(part, "required");
      if (isCertain && Array.isArray(needed))
        for (const name of needed) if (typeof name === "string") required.add(name);
      openings.push(member(part, "additionalProperties"), member(part, "patternProperties"));
    });
    const parameters = [...properties].map(([name, value]): Parameter => {
      const description = member(value, "description");
      return {
        name,
        isRequired: required.has(name),
        description: typeof description === "string" ? description : undefined,
        default: member(value, "default"),
        ...this.#value(value, 0),
      };
    });
    const isSilent = properties.size === 0 && !isObject(member(schema, "properties"));
    return {
      parameters: parameters.sort((a, b) => Number(b.isRequired) - Number(a.isRequired)),
      isOpen: isSilent
        ? member(schema, "additionalProperties") !== false
        : openings.some((each) => each !== undefined && each !== false),
    };
  }

  mentions(schema: unknown, name: string, depth = 0): boolean {
    if (!isObject(schema)) return false;
    if (depth > MAX_DEPTH || this.#steps++ > MAX_STEPS) return true;
    const dependent = ["dependentSchemas", "dependentRequired", "dependencies"].map((key) =>
      member(schema, key),
    );
    const names = [member(schema, "properties"), ...dependent].filter(isObject).flatMap(Object.keys);
    const needed = [member(schema, "required"), ...dependent.filter(isObject).flatMap(Object.values)];
    if (names.includes(name) || needed.some((list) => Array.isArray(list) && list.includes(name)))
      return true;
    const parts = [
      this.#target(schema),
      ...["allOf", "anyOf", "oneOf"].flatMap((keyword) => partsOf(schema, keyword)),
      ...["if", "then", "else", "not"].map((keyword) => member(schema, keyword)),
      ...dependent.filter(isObject).flatMap(Object.values),
    ];
    return parts.some((part) => this.mentions(part, name, depth + 1));
  }

  /** Visits a schema and the schemas that it combines. `isCertain` is false for alternatives. */
  #collect(
    schema: unknown,
    depth: number,
    isCertain: boolean,
    visit: (part: object, isCertain: boolean) => void,
  ): void {
    if (!isObject(schema) || depth > MAX_DEPTH || this.#steps++ > MAX_STEPS) return;
    visit(schema, isCertain);
    this.#collect(this.#target(schema), depth + 1, isCertain, visit);
    for (const part of partsOf(schema, "allOf")) this.#collect(part, depth + 1, isCertain, visit);
    for (const keyword of ["anyOf", "oneOf"])
      for (const part of partsOf(schema, keyword)) this.#collect(part, depth + 1, false, visit);
  }

  #value(schema: unknown, depth: number): ValueModel {
    let choices: unknown[] | undefined;
    let items: unknown;
    this.#collect(schema, depth, true, (part, isCertain) => {
      const listed = member(part, "enum");
      if (isCertain && Array.isArray(listed)) choices ??= listed;
      if (isCertain && Object.hasOwn(part, "const")) choices ??= [member(part, "const")];
      items ??= member(part, "items");
    });
    return {
      types: this.#types(schema, depth),
      choices,
      items: items === undefined || depth > MAX_DEPTH ? undefined : this.#value(items, depth + 1),
    };
  }

  #types(schema: unknown, depth: number): ReadonlySet<JsonType> | undefined {
    if (!isObject(schema) || depth > MAX_DEPTH || this.#steps++ > MAX_STEPS) return undefined;
    const own = [member(schema, "type")].flat().filter((type) => JSON_TYPES.has(type as JsonType));
    const listed = member(schema, "enum");
    const values = Array.isArray(listed)
      ? listed
      : Object.hasOwn(schema, "const")
        ? [member(schema, "const")]
        : [];
    const parts: (ReadonlySet<JsonType> | undefined)[] = [
      own.length > 0
        ? new Set(own as JsonType[])
        : values.length > 0
          ? new Set(values.map(jsonTypeOf))
          : undefined,
      this.#types(this.#target(schema), depth + 1),
      ...partsOf(schema, "allOf").map((part) => this.#types(part, depth + 1)),
      ...["anyOf", "oneOf"].map((keyword) => {
        const either = partsOf(schema, keyword).map((part) => this.#types(part, depth + 1));
        if (either.length === 0 || either.includes(undefined)) return undefined;
        return new Set(either.flatMap((each) => [...(each ?? [])]));
      }),
    ];
    const known = parts.filter((part) => part !== undefined);
    const common = [...(known[0] ?? [])].filter((type) => known.every((part) => isAmong(type, part)));
    return common.length === 0 ? undefined : new Set(common);
  }

  #target(schema: object): unknown {
    const reference = member(schema, "$ref");
    return typeof reference === "string" ? this.#references.resolve(reference) : undefined;
  }
}

function partsOf(schema: object, keyword: string): unknown[] {
  const parts = member(schema, keyword);
  return Array.isArray(parts) ? parts : [];
}

/** Whether a type is among some types, where an integer is also a number. */
export function isAmong(type: JsonType, types: ReadonlySet<JsonType>): boolean {
  return types.has(type) || (type === "integer" && types.has("number"));
}

/** The narrowest type of a JSON value. */
function jsonTypeOf(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint") return "integer";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "string" ? "string" : typeof value === "boolean" ? "boolean" : "object";
}

/** A value that was read, or why the text is not one, as a phrase that follows the argument's name. */
type ReadArgument = { ok: true; value: unknown } | { ok: false; why: string };

const MAX_CHOICES = 12;

/**
 * Reads one argument that was written as text, by its schema. If the schema allows only strings, the text is the string. If it
 * allows no string, the text is JSON, and a value that is not a list may be the only item of a list. If the schema allows both,
 * or does not say, JSON of another allowed type is read as such, and any other text as a string. A string may also be in JSON's
 * quotes.
 */
export function readArgument(text: string, model: ValueModel): ReadArgument {
  const read = readTyped(text, model);
  if (!read.ok || model.choices === undefined || isChoice(read.value, model.choices)) return read;
  const shown = model.choices.slice(0, MAX_CHOICES).map((choice) => writeJson(choice));
  const more = model.choices.length > MAX_CHOICES ? `, and ${model.choices.length - MAX_CHOICES} others` : "";
  return { ok: false, why: `must be one of ${shown.join(", ")}${more}` };
}

function readTyped(text: string, model: ValueModel): ReadArgument {
  const { types, items } = model;
  if (types?.size === 1 && types.has("string")) return { ok: true, value: text };
  const json = readJson(text);
  const isText = types === undefined || types.has("string");
  // Where it may be a text, a version `3.10` is one.
  const isSame = json.ok && (typeof json.value === "object" || numbersComeBack(text));
  if (json.ok && fits(json.value, types) && (!isText || isSame)) return json;
  if (isText) return { ok: true, value: text };
  if (types.has("array") && !text.trimStart().startsWith("[")) {
    const entry = readArgument(text, items ?? { types: undefined, choices: undefined, items: undefined });
    return entry.ok ? { ok: true, value: [entry.value] } : entry;
  }
  const why = json.ok || !isStructure(types) ? "" : ", as JSON";
  return { ok: false, why: `must be ${describeTypes(types)}${why}` };
}

/** Describes the expected value: `a whole number`, `a list or null`. */
export function describeTypes(types: ReadonlySet<JsonType>): string {
  return [...types].map((type) => WORDS[type]).join(" or ");
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
  const json = writeJson(value);
  return choices.some((choice) => writeJson(choice) === json);
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
