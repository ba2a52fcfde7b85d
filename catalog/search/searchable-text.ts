import type { Tool } from "../tool.ts";

/** The parts of a tool that search reads. `inputSchema` is whatever its server sent. */
export type SearchableTool = Pick<
  Tool,
  | "server"
  | "name"
  | "namespacedName"
  | "title"
  | "description"
  | "inputSchema"
  | "definitionDigest"
  | "method"
> &
  Partial<Pick<Tool, "annotations">>;

/** Matches queries about the resources or prompts of servers. */
const SUBJECTS: Readonly<Record<string, RegExp>> = {
  resources: /\b(?:mcp )?resources?\b|\buris?\b/i,
  prompts: /\bprompts?\b/i,
};

/**
 * Whether a query can mean a tool. A query must mention resources or prompts to mean a method of the protocol, because many
 * servers have these methods with the same words, and they would otherwise come before the tool that fits.
 */
export function canBeMeant({ method }: SearchableTool, query: string): boolean {
  return method === undefined || SUBJECTS[method.split("/", 1)[0] ?? ""]?.test(query) !== false;
}

/** The searched fields, in the order of their weights. */
export type FieldTexts = readonly [
  server: string,
  name: string,
  title: string,
  description: string,
  parameters: string,
  parameterDescriptions: string,
];

const MAX_NAME_CHARS = 512;
const MAX_TEXT_CHARS = 8_000;
const MAX_SCHEMA_NODES = 1_000;
const MAX_SCHEMA_DEPTH = 8;
const SUBSCHEMA_LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"];

/** A tool's text by field. Time and size are bounded for any schema, and search does not find text beyond the bounds. */
export function fieldTexts(tool: SearchableTool): FieldTexts {
  const parameters = new BoundedText();
  const descriptions = new BoundedText();
  const queue: { schema: unknown; depth: number }[] = [{ schema: tool.inputSchema, depth: 0 }];
  for (let next = 0; next < queue.length && next < MAX_SCHEMA_NODES; next++) {
    const { schema, depth } = queue[next] as (typeof queue)[number];
    if (typeof schema !== "object" || schema === null || depth > MAX_SCHEMA_DEPTH) continue;
    const { properties, description, items, additionalProperties, $defs, definitions } = schema as Record<
      string,
      unknown
    >;
    if (depth > 0 && typeof description === "string") descriptions.add(description);
    const below = (subschema: unknown) => {
      if (typeof subschema === "object" && subschema !== null)
        queue.push({ schema: subschema, depth: depth + 1 });
    };
    const [names, values] = entries(properties);
    for (const name of names) {
      parameters.add(name);
      below(values[name]);
    }
    below(items);
    below(additionalProperties);
    for (const members of [$defs, definitions]) {
      if (members === undefined) continue;
      const [defined, schemas] = entries(members);
      for (const name of defined) below(schemas[name]);
    }
    for (const keyword of SUBSCHEMA_LISTS) {
      const list = (schema as Record<string, unknown>)[keyword];
      if (Array.isArray(list)) for (const each of list.slice(0, MAX_SCHEMA_NODES)) below(each);
    }
  }
  return [
    tool.server.slice(0, MAX_NAME_CHARS),
    tool.name.slice(0, MAX_NAME_CHARS),
    (tool.title ?? "").slice(0, MAX_NAME_CHARS),
    (tool.description ?? "").slice(0, MAX_TEXT_CHARS),
    parameters.text,
    descriptions.text,
  ];
}

/** The names and values of an object's members. */
function entries(members: unknown): [names: string[], values: Record<string, unknown>] {
  if (typeof members !== "object" || members === null || Array.isArray(members)) return NO_ENTRIES;
  return [Object.keys(members).slice(0, MAX_SCHEMA_NODES), members as Record<string, unknown>];
}

const NO_ENTRIES: [string[], Record<string, unknown>] = [[], {}];

class BoundedText {
  text = "";

  add(more: string): void {
    if (this.text.length < MAX_TEXT_CHARS)
      this.text += ` ${more.slice(0, MAX_TEXT_CHARS - this.text.length)}`;
  }
}
