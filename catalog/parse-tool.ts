import { isObject } from "../base/json.ts";
import { countNoun } from "../base/quantities.ts";
import { digestOf } from "../protocol/canonical-json.ts";
import { MAX_DEFINITION_CHARS, MAX_DEFINITION_DEPTH } from "./model/limits.ts";
import type { JsonObject } from "./model/schema-references.ts";

/** A tool as its server listed it (MCP 2025-11-25, "Tool"): the fields that say what it does. */
export interface ToolDefinition {
  name: string;
  title?: string;
  description?: string;
  inputSchema: unknown;
  outputSchema?: unknown;
  annotations?: JsonObject;
  /** Where it is no tool: the method of the protocol that it stands for, which has the same name. */
  method?: string;
}

/** Whether a definition stands for a method of the protocol, such as `resources/read`, and for no tool. */
export function isMethod(definition: unknown): boolean {
  return isObject(definition) && definition.method !== undefined;
}

const MAX_ANNOTATIONS_DEPTH = 16;

/**
 * Reads one entry of `tools/list`; `undefined` when it has no name. Unknown fields and fields of the wrong type are left out.
 * What is deeper or longer than any real definition, or no JSON, is cut. `onProblem` receives each cut except those of depth,
 * which the reader of the schema reports. In the place of annotations that cannot be read stands a hint that makes the tool
 * destructive. Never throws, and what it returns has a digest.
 */
export function parseTool(
  entry: unknown,
  onProblem: (message: string) => void = () => {},
): ToolDefinition | undefined {
  if (!isObject(entry) || typeof entry.name !== "string") return undefined;
  const cut = (field: string, value: unknown): unknown => {
    const shallow = cutDepth(value, MAX_DEFINITION_DEPTH);
    const size = jsonSize(shallow);
    if (size <= MAX_DEFINITION_CHARS) return shallow;
    if (Number.isNaN(size)) {
      onProblem(`its ${field} holds a number that JSON cannot carry, and is left out`);
      return leftOut("no JSON", shallow);
    }
    onProblem(`its ${field} is larger than ptc keeps`);
    return typeof shallow === "string" ? cutText(shallow) : leftOut("too large", shallow);
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
  if (entry.annotations !== undefined && entry.annotations !== null) {
    tool.annotations = readAnnotations(entry.annotations, onProblem);
  }
  if (entry.method === entry.name) tool.method = entry.name;
  return tool;
}

function readAnnotations(value: unknown, onProblem: (message: string) => void): JsonObject {
  const annotations = cutDepth(value, MAX_ANNOTATIONS_DEPTH);
  if (isObject(annotations) && jsonSize(annotations) <= MAX_DEFINITION_CHARS) return annotations;
  onProblem("its annotations cannot be read, so it counts as destructive");
  return { destructiveHint: `unreadable annotations, ${digestOf(asJson(annotations))}` };
}

/** Text that is too long, cut so that its digest still changes whenever it does. */
function cutText(text: string): string {
  return `${text.slice(0, MAX_DEFINITION_CHARS / 2)}... (truncated, ${digestOf(text)})`;
}

/** In the place of a schema: allows anything, and its digest changes whenever the schema does. */
function leftOut(why: string, value: unknown): JsonObject {
  return { $comment: `left out by ptc: ${why}, ${digestOf(asJson(value))}` };
}

/**
 * The digest of the fields that define what a tool does. It is equal for equal definitions, in whatever order their members
 * are listed, and the same for a live listing and for a definition read back from the catalog. Everything that a call is
 * judged by is part of it: name, schemas and annotations. Never throws.
 */
export function definitionDigest(tool: unknown): string {
  const definition = parseTool(tool);
  return digestOf(definition === undefined ? null : { ...definition });
}

/** About how many characters of JSON a value of bounded depth has, without writing them; NaN for what JSON cannot carry. */
export function jsonSize(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (value === null || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)))
    return 6;
  if (typeof value !== "object") return Number.NaN;
  let size = 2;
  if (Array.isArray(value)) for (const each of value) size += jsonSize(each) + 1;
  else
    for (const name in value) {
      const each = (value as JsonObject)[name];
      if (each !== undefined) size += name.length + 4 + jsonSize(each);
    }
  return size;
}

/** A value of bounded depth with text in the place of what JSON cannot carry. */
function asJson(value: unknown): unknown {
  if (!Number.isNaN(jsonSize(value))) return value;
  if (typeof value !== "object" || value === null)
    return typeof value === "number" ? String(value) : typeof value;
  if (Array.isArray(value)) return Array.from(value, asJson);
  return copyObject(value, asJson);
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
  return copyObject(value, (each) => cutBelow(each, levels - 1));
}

/** A copy with every own member, `__proto__` too. */
function copyObject(value: object, copyMember: (member: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyMember(each)]));
}

/** What one MCP server answered when its tools were listed. */
export interface ServerListing {
  /** The name in the configuration. */
  name: string;
  /** The description in the configuration. */
  description?: string;
  implementation: { name: string; version: string };
  protocolVersion: string;
  /** The entries of `tools/list` as they came: each is parsed before it is used (parse-tool.ts). */
  tools: unknown[];
}

/** Something in a server's definitions that could not be used as it was. */
export interface Warning {
  server: string;
  tool?: string;
  message: string;
}

/** How many of some definitions are tools; methods of the protocol, such as `resources/read`, are none. */
export function countTools(definitions: readonly unknown[]): number {
  return definitions.filter((definition) => !isMethod(definition)).length;
}

/** What a server offers, in words: `9 tools, resources, prompts`. */
export function renderOffer(definitions: readonly unknown[]): string {
  const offers = (kind: string) =>
    definitions.some(
      (each) => isObject(each) && typeof each.method === "string" && each.method.startsWith(`${kind}/`),
    );
  return [countNoun(countTools(definitions), "tool"), ...["resources", "prompts"].filter(offers)].join(", ");
}
