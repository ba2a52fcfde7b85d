import { isObject } from "../../base/json/is-object.ts";
import { findSchemaProblem } from "../../base/json/schema-form.ts";
import { visibleLines } from "../../base/text/visible-text.ts";

/** A schema of arguments or results as MCP has it in definitions of tools (2025-11-25, "Tool"). */
export type ObjectSchema = { type: "object"; [key: string]: unknown };

/** What models' APIs allow in names of arguments. */
const ARGUMENT = /^[A-Za-z0-9_.-]{1,64}$/;
/** Keywords that models' APIs do not take at the top of a schema of arguments. */
const NOT_ON_TOP = ["anyOf", "oneOf", "allOf", "not", "enum"];
/** Keywords that lead to schemas by other ways than a pointer into the same one. */
const ANCHORS = ["$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];
/** Keywords whose values are schemas by names of the server's, and those whose values are data. */
const BY_NAME = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const DATA = new Set(["const", "default", "enum", "examples"]);

/**
 * A server's schema of arguments as clients and models take it, or why they would not, in words that follow "its". A client that
 * refuses one definition refuses all of them, and a model's API the whole conversation.
 */
export function listableInput(schema: unknown): { schema: ObjectSchema } | { why: string } {
  const usable = listable(schema, "inputSchema");
  if ("why" in usable) return usable;
  const odd = NOT_ON_TOP.find((keyword) => Object.hasOwn(usable.schema, keyword));
  if (odd !== undefined) return { why: `inputSchema has ${odd} at its top` };
  const { properties = {} } = usable.schema;
  const named = Object.keys(isObject(properties) ? properties : {}).find((name) => !ARGUMENT.test(name));
  return named === undefined ? usable : { why: "inputSchema has an argument whose name models do not take" };
}

/** A server's schema of results as clients check results by it; `undefined` where they could not. */
export function listableOutput(schema: unknown): ObjectSchema | undefined {
  if (!isObject(schema) || schema.type !== "object") return undefined;
  const usable = listable(schema, "outputSchema");
  return "why" in usable ? undefined : usable.schema;
}

function listable(given: unknown, what: string): { schema: ObjectSchema } | { why: string } {
  // A name of its own could be that of another tool's schema, and references begin at the top all the same.
  const { $id: _, ...schema } = isObject(given) ? given : {};
  if (!isObject(given) || (schema.type ?? "object") !== "object") return { why: `${what} is of no object` };
  const problem = findSchemaProblem(schema, []);
  if (problem !== undefined)
    return { why: `${what} is no JSON Schema: ${problem.path.join(".")} ${problem.message}` };
  const lost = findLostReference(schema, schema);
  if (lost !== undefined) return { why: `${what} refers to ${lost}` };
  return { schema: { ...(showAll(schema) as object), type: "object" } };
}

/**
 * The first reference that leads nowhere within the schema.
 *
 * @param areNames whether the members of the value are names of the server's, and no keywords.
 */
function findLostReference(
  value: unknown,
  root: Record<string, unknown>,
  areNames = false,
): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, each] of Object.entries(value)) {
    if (!areNames && DATA.has(key)) continue;
    if (!areNames && key === "$ref" && !(typeof each === "string" && leadsTo(each, root)))
      return "a schema that is not in it";
    if (!areNames && (key === "$id" || ANCHORS.includes(key))) return `a schema by ${key}`;
    const lost = findLostReference(each, root, !areNames && BY_NAME.has(key));
    if (lost !== undefined) return lost;
  }
  return undefined;
}

/** Whether a JSON Pointer as a fragment (RFC 6901, section 6) leads to a schema. */
function leadsTo(reference: string, root: Record<string, unknown>): boolean {
  if (reference === "#") return true;
  if (!reference.startsWith("#/") || reference.includes("%")) return false;
  let place: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, name)) return false;
    place = (place as Record<string, unknown>)[name];
  }
  return typeof place === "boolean" || isObject(place);
}

/** The schema with texts for models in which nothing is hidden. */
function showAll(value: unknown, areNames = false): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => showAll(each));
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (areNames) return [key, showAll(each)];
      if (DATA.has(key)) return [key, each];
      const isText = (key === "description" || key === "title") && typeof each === "string";
      return [key, isText ? visibleLines(each) : showAll(each, BY_NAME.has(key))];
    }),
  );
}
