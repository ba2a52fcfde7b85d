import { isObject } from "../../base/json/is-object.ts";
import { member, SchemaReferences } from "../model/schema-references.ts";

export type JsonType = "string" | "number" | "integer" | "boolean" | "null" | "array" | "object";

const JSON_TYPES: ReadonlySet<string> = new Set<JsonType>([
  "string",
  "number",
  "integer",
  "boolean",
  "null",
  "array",
  "object",
]);

/** What is known of a value from its schema. */
export interface ValueModel {
  /** The types that it may have; `undefined` where the schema does not say. */
  readonly types: ReadonlySet<JsonType> | undefined;
  /** The only values that it may have, where the schema lists them. */
  readonly choices: readonly unknown[] | undefined;
  /** Its entries, if it is a list and the schema says what they are. */
  readonly items: ValueModel | undefined;
}

/** One argument of a tool. */
export interface Parameter extends ValueModel {
  readonly name: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly default: unknown;
}

/** The arguments of a tool, for whoever writes them by hand. What the schema says beyond that is the validator's matter. */
export interface ToolParameters {
  /** Required ones first, otherwise in the order of the schema. */
  readonly parameters: readonly Parameter[];
  /** Whether others may be given besides. */
  readonly isOpen: boolean;
}

/** Schemas come from servers: no more of them than this is looked at. */
const MAX_STEPS = 5_000;
const MAX_DEPTH = 16;

/** @param inputSchema any JSON */
export function toolParameters(inputSchema: unknown): ToolParameters {
  return new SchemaReader(inputSchema).parameters(inputSchema);
}

/** Keywords beside which an object without properties is just that. */
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
 * Whether a tool has no arguments: its schema lists the properties, and there are none. That is what SDKs write of a function without
 * parameters. `{"type": "object"}` lists none and accepts any (MCP 2025-11-25, "Tool").
 */
export function takesNothing(inputSchema: unknown): boolean {
  const properties = member(inputSchema, "properties");
  const required = member(inputSchema, "required") ?? [];
  const others = member(inputSchema, "additionalProperties") ?? false;
  if (!isObject(inputSchema) || !isObject(properties) || others !== false) return false;
  if (Object.keys(properties).length > 0 || !Array.isArray(required) || required.length > 0) return false;
  return Object.keys(inputSchema).every((keyword) => SAYS_NOTHING_MORE.has(keyword));
}

/** What is wrong with the name of an argument, and the parameter that it means, where there is one. */
export interface MisnamedArgument {
  name: string;
  meant: string | undefined;
}

/**
 * The first argument that its tool does not have: any of a tool that takes none, and of another one that differs from a
 * parameter which was not given only by case, `_` or `-`. JSON Schema lets both pass, and then the call does something else than was meant.
 */
export function misnamedArgument(inputSchema: unknown, args: unknown): MisnamedArgument | undefined {
  if (!isObject(args)) return undefined;
  const names = Object.keys(args);
  if (names.length === 0) return undefined;
  if (takesNothing(inputSchema)) return { name: names[0] ?? "", meant: undefined };
  const { parameters, isOpen } = toolParameters(inputSchema);
  if (isOpen) return undefined;
  const known = new Set(parameters.map((parameter) => parameter.name));
  const missing = new Map(
    parameters.filter(({ name }) => !Object.hasOwn(args, name)).map(({ name }) => [folded(name), name]),
  );
  if (missing.size === 0) return undefined;
  for (const name of names) {
    const meant = known.has(name) ? undefined : missing.get(folded(name));
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

  /** Visits a schema and all that it is put together from. `isCertain` is false for alternatives. */
  #collect(
    schema: unknown,
    depth: number,
    isCertain: boolean,
    visit: (part: object, isCertain: boolean) => void,
  ): void {
    if (!isObject(schema) || depth > MAX_DEPTH || this.#steps++ > MAX_STEPS) return;
    visit(schema, isCertain);
    const target = this.#target(schema);
    if (target !== undefined) this.#collect(target, depth + 1, isCertain, visit);
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

/** Whether a value of this type may be one of those types: an integer is a number. */
export function isAmong(type: JsonType, types: ReadonlySet<JsonType>): boolean {
  return types.has(type) || (type === "integer" && types.has("number"));
}

/** The narrowest type of a JSON value. */
export function jsonTypeOf(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "string" ? "string" : typeof value === "boolean" ? "boolean" : "object";
}
