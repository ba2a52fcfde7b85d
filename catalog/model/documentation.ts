import { isObject } from "../../base/json/is-object.ts";
import { MAX_DEFAULT_CHARS, MAX_DESCRIPTION_CHARS } from "./limits.ts";
import { type JsonObject, member } from "./schema-references.ts";
import type { Documentation, TypeNode } from "./type-model.ts";

/** The documentation in a schema, with that of its items and alternatives, which have no place of their own in code. */
export function readDocumentation(schema: JsonObject, type: TypeNode): Documentation {
  const description = describe(schema, type, 0);
  const documentation: Documentation = {};
  if (description !== "") documentation.description = cutDescription(description);
  const fallback = member(schema, "default");
  if (fallback !== undefined && isShallow(fallback, 4)) {
    const json = JSON.stringify(fallback);
    if (json.length <= MAX_DEFAULT_CHARS) documentation.default = json;
  }
  const format = member(schema, "format");
  if (typeof format === "string" && /^[A-Za-z0-9-]{1,40}$/.test(format)) documentation.format = format;
  if (member(schema, "deprecated") === true) documentation.deprecated = true;
  return documentation;
}

/** Cuts a description to the length that a module carries. */
export function cutDescription(text: string): string {
  return text.length <= MAX_DESCRIPTION_CHARS
    ? text
    : `${text.slice(0, MAX_DESCRIPTION_CHARS)}... (truncated)`;
}

function describe(schema: JsonObject, type: TypeNode, level: number): string {
  const parts: string[] = [];
  const own = member(schema, "description");
  if (typeof own === "string" && own.trim() !== "") parts.push(own.trim());
  if (level < 4) {
    const items = member(schema, "items");
    if (type.kind === "array" && isObject(items)) {
      const nested = describe(items, type.items, level + 1);
      if (nested !== "") parts.push(`Items: ${nested}`);
    }
    const values = member(schema, "additionalProperties");
    if (isObject(values)) {
      const nested = describe(values, { kind: "any" }, level + 1);
      if (nested !== "") parts.push(`Values: ${nested}`);
    }
    const alternatives = [
      ...describeMembers(schema, "anyOf", level),
      ...describeMembers(schema, "oneOf", level),
    ];
    parts.push(...alternatives.map((each) => (alternatives.length > 1 ? `- ${each}` : each)));
    parts.push(...describeMembers(schema, "allOf", level).filter((each) => !parts.includes(each)));
  }
  return parts.join("\n");
}

function describeMembers(schema: JsonObject, keyword: string, level: number): string[] {
  const members = member(schema, keyword);
  if (!Array.isArray(members)) return [];
  const described = members
    .slice(0, 32)
    .map((each) => (isObject(each) ? describe(each, { kind: "any" }, level + 1) : ""));
  return [...new Set(described)].filter((each) => each !== "" && each !== schema.description);
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1));
}
