/** The names that schemas give to arguments of tools and to fields of their results, for what mentions these by path. */
import { isObject } from "../base/json.ts";
import { takesNothing, toolParameters } from "./arguments.ts";
import { member, SchemaReferences } from "./model/schema-references.ts";
import type { Tool } from "./tool.ts";

/** The members of an object as its schema names them; `undefined` if it may have others. */
export type Members = ReadonlyMap<string, () => Members> | undefined;

/**
 * Looks for the member at a path such as `messages[].body`. Places in lists make no difference, and `*` stands for any member.
 *
 * @returns the names that are there instead, where a step leads to none.
 */
export function lookUpMember(members: Members, path: string): "found" | "unknown" | { names: string[] } {
  return lookUp(members, stepsOf(path));
}

function lookUp(
  members: Members,
  [step, ...rest]: readonly string[],
): "found" | "unknown" | { names: string[] } {
  if (step === undefined) return "found";
  if (members === undefined) return "unknown";
  if (step === "*") return "unknown";
  const below = members.get(step);
  return below === undefined ? { names: [...members.keys()] } : lookUp(below(), rest);
}

function stepsOf(path: string): string[] {
  const steps = path.match(/\[(?:"(?:[^"\\]|\\.)*"|\d*)\]|[^.[\]]+/g) ?? [];
  return steps.flatMap((step) => {
    if (/^\[\d*\]$/.test(step)) return [];
    return step.startsWith("[") ? [String(JSON.parse(step.slice(1, -1)))] : [step];
  });
}

/** The arguments of a tool. */
export function argumentMembers({ inputSchema }: Pick<Tool, "inputSchema">): Members {
  if (takesNothing(inputSchema)) return new Map();
  const { parameters, isOpen } = toolParameters(inputSchema);
  if (isOpen || parameters.length === 0) return undefined;
  const references = new SchemaReferences(inputSchema);
  const properties = member(inputSchema, "properties");
  return new Map(parameters.map(({ name }) => [name, () => membersOf(member(properties, name), references)]));
}

/** The fields of what a tool gives programs. */
export function resultMembers({ outputSchema, unwraps }: Pick<Tool, "outputSchema" | "unwraps">): Members {
  if (outputSchema === undefined) return undefined;
  const references = new SchemaReferences(outputSchema);
  const schema = unwraps === true ? member(member(outputSchema, "properties"), "result") : outputSchema;
  return membersOf(schema, references);
}

const MAX_STEPS = 32;

/** The members of an object, or of the objects in a list. */
function membersOf(schema: unknown, references: SchemaReferences): Members {
  let at = schema;
  for (let step = 0; step < MAX_STEPS; step++) {
    const ref = member(at, "$ref");
    const items = member(at, "items");
    if (typeof ref === "string") at = references.resolve(ref);
    else if (isObject(items)) at = items;
    else break;
  }
  const properties = member(at, "properties");
  const others = member(at, "additionalProperties") ?? false;
  const isPlain = ["anyOf", "oneOf", "allOf", "patternProperties", "if", "$ref"].every(
    (keyword) => member(at, keyword) === undefined,
  );
  if (!isObject(properties) || others !== false || !isPlain) return undefined;
  return new Map(Object.entries(properties).map(([name, each]) => [name, () => membersOf(each, references)]));
}
