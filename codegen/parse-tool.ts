import { digestOf } from "../protocol/canonical-json.ts";
import { MAX_DEFINITION_DEPTH } from "./limits.ts";
import { isObject, type JsonObject } from "./schema-references.ts";

/** The fields of a listed tool that say what it does, as the server wrote them. */
export interface ToolDefinition {
  name: string;
  title?: string;
  description?: string;
  inputSchema: unknown;
  outputSchema?: unknown;
  annotations?: JsonObject;
}

/**
 * Reads one entry of `tools/list`; `undefined` when it is no tool at all. Fields of the wrong type are left out, unknown
 * fields too. What nests deeper than any real definition is cut.
 */
export function parseTool(entry: unknown): ToolDefinition | undefined {
  if (!isObject(entry) || typeof entry.name !== "string") return undefined;
  const tool: ToolDefinition = {
    name: entry.name,
    inputSchema: entry.inputSchema === undefined ? {} : cutDepth(entry.inputSchema, MAX_DEFINITION_DEPTH),
  };
  if (typeof entry.title === "string") tool.title = entry.title;
  if (typeof entry.description === "string") tool.description = entry.description;
  if (entry.outputSchema !== undefined && entry.outputSchema !== null) {
    tool.outputSchema = cutDepth(entry.outputSchema, MAX_DEFINITION_DEPTH);
  }
  if (isObject(entry.annotations)) tool.annotations = cutDepth(entry.annotations, 16) as JsonObject;
  return tool;
}

/**
 * The digest of the fields that define what a tool does. Equal for equal definitions, however they are listed; the same
 * for a live listing and for a definition read back from the catalog.
 */
export function definitionDigest(tool: unknown): string {
  const definition = parseTool(tool);
  return digestOf(definition === undefined ? null : { ...definition });
}

function cutDepth(value: unknown, levels: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.map((each) => cutDepth(each, levels - 1));
  const copy = {};
  for (const [name, each] of Object.entries(value)) {
    Object.defineProperty(copy, name, {
      value: cutDepth(each, levels - 1),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return copy;
}
