import { digestOf } from "../protocol/canonical-json.ts";
import { MAX_DEFINITION_CHARS, MAX_DEFINITION_DEPTH } from "./limits.ts";
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
 * fields too. What is deeper or longer than any real definition is cut; of length `onProblem` is told, of depth whoever reads the schema.
 */
export function parseTool(
  entry: unknown,
  onProblem: (message: string) => void = () => {},
): ToolDefinition | undefined {
  if (!isObject(entry) || typeof entry.name !== "string") return undefined;
  const cut = (field: string, value: unknown): unknown => {
    const shallow = cutDepth(value, MAX_DEFINITION_DEPTH);
    const kept = cutLength(shallow);
    if (kept !== shallow) onProblem(`its ${field} is larger than ptc keeps`);
    return kept;
  };
  const tool: ToolDefinition = {
    name: entry.name,
    inputSchema: entry.inputSchema === undefined ? {} : cut("inputSchema", entry.inputSchema),
  };
  if (typeof entry.title === "string") tool.title = String(cut("title", entry.title));
  if (typeof entry.description === "string") tool.description = String(cut("description", entry.description));
  if (entry.outputSchema !== undefined && entry.outputSchema !== null) {
    tool.outputSchema = cut("outputSchema", entry.outputSchema);
  }
  if (isObject(entry.annotations)) {
    const annotations = cutDepth(entry.annotations, 16);
    if (isObject(annotations) && cutLength(annotations) === annotations) tool.annotations = annotations;
  }
  return tool;
}

/** What is too long, cut so that its digest still changes whenever it does. */
function cutLength(value: unknown): unknown {
  if (typeof value === "string" && value.length > MAX_DEFINITION_CHARS)
    return `${value.slice(0, MAX_DEFINITION_CHARS / 2)}... (truncated, ${digestOf(value)})`;
  if (typeof value !== "object" || jsonSize(value) <= MAX_DEFINITION_CHARS) return value;
  return { $comment: `left out by ptc: too large, ${digestOf(value)}` };
}

/**
 * The digest of the fields that define what a tool does. Equal for equal definitions, however they are listed; the same
 * for a live listing and for a definition read back from the catalog.
 */
export function definitionDigest(tool: unknown): string {
  const definition = parseTool(tool);
  return digestOf(definition === undefined ? null : { ...definition });
}

/** About how many characters of JSON a value is, without writing them. */
export function jsonSize(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 6;
  let size = 2;
  if (Array.isArray(value)) for (const each of value) size += jsonSize(each) + 1;
  else for (const name in value) size += name.length + 4 + jsonSize((value as JsonObject)[name]);
  return size;
}

function cutDepth(value: unknown, levels: number): unknown {
  return isDeeper(value, levels) ? cutBelow(value, levels) : value;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const name in value) if (isDeeper((value as JsonObject)[name], levels - 1)) return true;
  return false;
}

function cutBelow(value: unknown, levels: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.map((each) => cutBelow(each, levels - 1));
  const copy = {};
  for (const [name, each] of Object.entries(value)) {
    Object.defineProperty(copy, name, {
      value: cutBelow(each, levels - 1),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return copy;
}
