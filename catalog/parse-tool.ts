import { isObject } from "../base/json.ts";
import { countNoun } from "../base/quantities.ts";
import { digestOf } from "../protocol/canonical-json.ts";
import { MAX_DEFINITION_CHARS, MAX_DEFINITION_DEPTH } from "./model/limits.ts";
import type { JsonObject } from "./model/schema-references.ts";

/** A tool as its server listed it (MCP 2025-11-25, "Tool"): the fields that define what it does. */
export interface ToolDefinition {
  name: string;
  title?: string;
  description?: string;
  inputSchema: unknown;
  outputSchema?: unknown;
  annotations?: JsonObject;
  /** How a client shows the tool. No part of what it does, and so of no digest. */
  icons?: JsonObject[];
  /** What the server says to clients, such as the view of an app. No part of what the tool does, and so of no digest. */
  _meta?: JsonObject;
  /** Set if it is not a tool: the method of the protocol that it represents, which has the same name. */
  method?: string;
}

/** Whether a definition represents a method of the protocol, such as `resources/read`, and not a tool. */
export function isMethod(definition: unknown): boolean {
  return isObject(definition) && definition.method !== undefined;
}

const MAX_ANNOTATIONS_DEPTH = 16;

/** What is said to clients alone is left out if it is deeper or longer than this. */
const MAX_SHOWN_DEPTH = 16;
const MAX_SHOWN_CHARS = 64 * 1024;
const MAX_ICONS = 16;

/**
 * Reads one entry of `tools/list`, or returns `undefined` if it has no name. Leaves out unknown fields and fields of the wrong
 * type. Cuts everything that is deeper or longer than any real definition, or is not JSON. `onProblem` receives each cut except
 * those of depth, which the reader of the schema reports. A hint that makes the tool destructive replaces unreadable annotations.
 * Never throws. The result always has a digest.
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
  const icons = Array.isArray(entry.icons) ? entry.icons.filter(isObject).slice(0, MAX_ICONS) : [];
  if (icons.length > 0 && isShowable(icons)) tool.icons = icons;
  if (isObject(entry._meta) && isShowable(entry._meta)) tool._meta = entry._meta;
  if (entry.method === entry.name) tool.method = entry.name;
  return tool;
}

/** Whether JSON that is for clients alone is small enough to be kept. */
function isShowable(value: unknown): boolean {
  return !isDeeper(value, MAX_SHOWN_DEPTH) && jsonSize(value) <= MAX_SHOWN_CHARS;
}

function readAnnotations(value: unknown, onProblem: (message: string) => void): JsonObject {
  const annotations = cutDepth(value, MAX_ANNOTATIONS_DEPTH);
  if (isObject(annotations) && jsonSize(annotations) <= MAX_DEFINITION_CHARS) return annotations;
  onProblem("its annotations cannot be read, so it counts as destructive");
  return { destructiveHint: `unreadable annotations, ${digestOf(asJson(annotations))}` };
}

/** Cuts a text that is too long. The result still changes whenever the text does. */
function cutText(text: string): string {
  return `${text.slice(0, MAX_DEFINITION_CHARS / 2)}... (truncated, ${digestOf(text)})`;
}

/** Replaces a schema: allows anything, and its digest changes whenever the schema does. */
function leftOut(why: string, value: unknown): JsonObject {
  return { $comment: `left out by ptc: ${why}, ${digestOf(asJson(value))}` };
}

/**
 * The digest of the fields that define what a tool does. It is equal for equal definitions, whatever the order of their members,
 * and the same for a live listing and for a definition read back from the catalog. It covers everything that decides about a
 * call: name, schemas and annotations. Never throws.
 */
export function definitionDigest(tool: unknown): string {
  const parsed = parseTool(tool);
  if (parsed === undefined) return digestOf(null);
  const { icons: _icons, _meta, ...definition } = parsed;
  return digestOf(definition);
}

/** The approximate length of a value of bounded depth as JSON. NaN for values that JSON cannot represent. */
export function jsonSize(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (value === null || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)))
    return 6;
  if (typeof value === "bigint") return String(value).length;
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

/** A value of bounded depth, in which text replaces everything that JSON cannot represent. */
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

/** A copy with every own member, including `__proto__`. */
function copyObject(value: object, copyMember: (member: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyMember(each)]));
}

/** The answers of one MCP server to the listing of its tools. */
export interface ServerListing {
  /** The name in the configuration. */
  name: string;
  /** The description in the configuration. */
  description?: string;
  implementation: { name: string; version: string };
  protocolVersion: string;
  /** The raw entries of `tools/list`. Each is parsed before use. */
  tools: unknown[];
}

/** Something in a server's definitions that could not be used unchanged. */
export interface Warning {
  server: string;
  tool?: string;
  message: string;
}

/** The number of tools among some definitions. Methods of the protocol, such as `resources/read`, do not count. */
export function countTools(definitions: readonly unknown[]): number {
  return definitions.filter((definition) => !isMethod(definition)).length;
}

/** Describes what a server offers: `9 tools, resources, prompts`. */
export function renderOffer(definitions: readonly unknown[]): string {
  const offers = (kind: string) =>
    definitions.some(
      (each) => isObject(each) && typeof each.method === "string" && each.method.startsWith(`${kind}/`),
    );
  return [countNoun(countTools(definitions), "tool"), ...["resources", "prompts"].filter(offers)].join(", ");
}
