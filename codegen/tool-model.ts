import { namespacedName } from "../protocol/tool-name.ts";
import { cutDescription } from "./documentation.ts";
import { assignIdentifiers, byCodeUnit } from "./identifiers.ts";
import { MAX_DESCRIPTION_CHARS } from "./limits.ts";
import { normalizeSchema } from "./normalize-schema.ts";
import { parseTool, type ToolDefinition } from "./parse-tool.ts";
import { isObject } from "./schema-references.ts";
import type { ServerListing, Warning } from "./server-listing.ts";
import { ANY, type TypeModel } from "./type-model.ts";

/** A tool as every printer needs it: names, types and documentation, in no language's terms. */
export interface ToolModel {
  definition: ToolDefinition;
  /** `mcp__<server_module>__<tool>`, the tool's protocol name as it is. */
  namespacedName: string;
  /** camelCase, distinct within the server. */
  identifier: string;
  description?: string;
  input: TypeModel;
  output?: TypeModel;
}

export interface ServerModel {
  /** The name in the configuration. */
  name: string;
  module: string;
  description?: string;
  /** By protocol name. */
  tools: ToolModel[];
}

/**
 * Builds the model of a server from what it listed. No tool is lost: what cannot be typed is wider, with a warning. Of
 * two tools of one name the first counts, as it does for the server that answers calls.
 */
export function buildServerModel(
  listing: ServerListing,
  module: string,
  previousIdentifiers?: ReadonlyMap<string, string>,
): { server: ServerModel; warnings: Warning[] } {
  const warnings: Warning[] = [];
  const definitions = new Map<string, ToolDefinition>();
  let dropped = 0;
  for (const entry of listing.tools) {
    const problems: string[] = [];
    const definition = parseTool(entry, (message) => problems.push(message));
    if (definition === undefined) dropped++;
    else if (definitions.has(definition.name)) {
      warnings.push({
        server: listing.name,
        tool: definition.name,
        message: "is listed twice; the first one counts",
      });
    } else {
      definitions.set(definition.name, definition);
      for (const message of problems) warnings.push({ server: listing.name, tool: definition.name, message });
    }
  }
  if (dropped > 0) {
    const message = `${dropped} ${dropped === 1 ? "entry" : "entries"} without a name left out of the list of tools`;
    warnings.push({ server: listing.name, message });
  }
  const identifiers = assignIdentifiers([...definitions.keys()], previousIdentifiers);
  const tools = [...definitions.values()]
    .sort((a, b) => byCodeUnit(a.name, b.name))
    .map((definition) => {
      const identifier = identifiers.get(definition.name) ?? "";
      const warn = (message: string): void => {
        warnings.push({ server: listing.name, tool: definition.name, message });
      };
      return buildToolModel(definition, module, identifier, warn);
    });
  const server: ServerModel = { name: listing.name, module, tools };
  if (listing.description !== undefined) server.description = listing.description;
  return { server, warnings };
}

export function buildToolModel(
  definition: ToolDefinition,
  module: string,
  identifier: string,
  warn: (message: string) => void = () => {},
): ToolModel {
  const tool: ToolModel = {
    definition,
    namespacedName: namespacedName(module, definition.name),
    identifier,
    input: buildType(asArguments(definition.inputSchema, warn), "input", warn),
  };
  const description = definition.description ?? definition.title;
  if (description !== undefined && description.trim() !== "") {
    tool.description = cutDescription(description.trim());
    if (tool.description !== description.trim())
      warn(`its description is cut after ${MAX_DESCRIPTION_CHARS} characters`);
  }
  if (definition.outputSchema !== undefined) {
    tool.output = buildType(definition.outputSchema, "output", warn);
  }
  return tool;
}

/** Arguments are always an object, whatever a schema forgets to say. */
function asArguments(schema: unknown, warn: (message: string) => void): unknown {
  if (isObject(schema)) return schema.type === undefined ? { ...schema, type: "object" } : schema;
  if (schema !== true) warn("input: a schema that is no object allows any arguments");
  return { type: "object" };
}

/** The same tool when nothing can be said of its types. */
export function withoutTypes(tool: ToolModel): ToolModel {
  const untyped: TypeModel = { root: ANY, documentation: {}, definitions: new Map() };
  return { ...tool, input: untyped, ...(tool.output === undefined ? {} : { output: untyped }) };
}

function buildType(schema: unknown, of: "input" | "output", warn: (message: string) => void): TypeModel {
  try {
    return normalizeSchema(schema, (message) => warn(`${of}: ${message}`));
  } catch {
    warn(`${of}: a schema that cannot be read is any`);
    return { root: ANY, documentation: {}, definitions: new Map() };
  }
}
