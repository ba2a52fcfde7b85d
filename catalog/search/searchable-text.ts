/** What search knows of a tool. `inputSchema` is whatever its server sent. */
export interface SearchableTool {
  /** The server's module or its configured name: what `search` is scoped by. */
  server: string;
  /** Protocol name. */
  name: string;
  /** `mcp__<server>__<tool>`: unique in the index. */
  namespacedName: string;
  title?: string | undefined;
  description?: string | undefined;
  inputSchema?: unknown;
}

/** The fields that are searched, in the order in which they are weighed. */
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

/** A tool's text by field. Bounded in time and size whatever the schema is: what lies beyond the bounds is not found. */
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
    const below = (subschema: unknown) => queue.push({ schema: subschema, depth: depth + 1 });
    for (const [name, property] of entries(properties)) {
      parameters.add(name);
      below(property);
    }
    below(items);
    below(additionalProperties);
    for (const [, definition] of [...entries($defs), ...entries(definitions)]) below(definition);
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

function entries(members: unknown): [string, unknown][] {
  if (typeof members !== "object" || members === null || Array.isArray(members)) return [];
  const found: [string, unknown][] = [];
  for (const name in members) {
    if (found.length === MAX_SCHEMA_NODES) break;
    if (Object.hasOwn(members, name)) found.push([name, (members as Record<string, unknown>)[name]]);
  }
  return found;
}

class BoundedText {
  text = "";

  add(more: string): void {
    if (this.text.length < MAX_TEXT_CHARS)
      this.text += ` ${more.slice(0, MAX_TEXT_CHARS - this.text.length)}`;
  }
}
