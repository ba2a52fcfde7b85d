import { isDeepStrictEqual } from "node:util";
import { isMap, isNode, isSeq, parseDocument, stringify } from "yaml";
import * as z from "zod";
import { isObject } from "../base/json.ts";
import { TEXTS, unwrap } from "./settings/declare.ts";
import type { ServerEntry } from "./settings/server-settings.ts";
import { Settings } from "./settings/settings.ts";

/** The column of the comments after values. */
const COMMENT_COLUMN = 34;

/** Settings of a new ptc.yaml besides its servers. */
export interface GivenSettings {
  tools?: { allow: string[] } | { block: string[] };
  approvals?: { ask: string[] };
}

/** The text of a new ptc.yaml: the servers and the given settings, and every other key commented out with its default. */
export function renderConfiguration(
  servers: readonly ServerEntry[],
  { tools, approvals }: GivenSettings = {},
): string {
  const given: Readonly<Record<string, unknown>> = {
    ...(servers.length > 0 && { servers }),
    ...(tools && { tools }),
    ...(approvals && { approvals }),
  };
  const { inner } = unwrap(Settings);
  const shape = inner instanceof z.ZodObject ? inner.shape : {};
  return Object.entries(shape)
    .flatMap(([key, schema]) => {
      const { heading } = TEXTS.get(schema as z.ZodType)?.line ?? {};
      const above = heading === undefined ? [] : ["", ...commented(heading.split("\n"))];
      const render = () =>
        stringify({ [key]: given[key] }, { lineWidth: 0, blockQuote: false, aliasDuplicateObjects: false });
      return [...above, ...(key in given ? [render().trimEnd()] : commented(linesOf(key, schema, "")))];
    })
    .join("\n")
    .trimStart()
    .concat("\n");
}

function commented(lines: readonly string[]): string[] {
  return lines.map((line) => `# ${line}`);
}

/** The lines of a key and of the shown keys below it. */
function linesOf(key: string, schema: unknown, indent: string): string[] {
  const { line, description } = (schema instanceof z.ZodType && TEXTS.get(schema)) || {};
  if (line === undefined) return [];
  const { inner, fallback } = unwrap(schema);
  if (inner instanceof z.ZodObject && line.value === undefined) {
    const below = Object.entries(inner.shape).flatMap(([name, each]) => linesOf(name, each, `${indent}  `));
    return [`${indent}${key}:`, ...below];
  }
  // A key without a default is shown with an example or not at all.
  const value = line.value ?? (fallback === undefined ? undefined : renderDefault(fallback));
  if (value === undefined) return [];
  const written = `${indent}${key}:${value.startsWith("\n") ? "" : " "}${value}`;
  const comment = line.comment === true ? description : line.comment;
  return (comment === undefined ? written : `${written.padEnd(COMMENT_COLUMN)}# ${comment}`).split("\n");
}

/** The default of a setting as YAML on one line. */
export function renderDefault(fallback: unknown): string {
  if (Array.isArray(fallback)) return `[${fallback.map(renderDefault).join(", ")}]`;
  return typeof fallback === "object" ? JSON.stringify(fallback) : String(fallback);
}

/**
 * The text of a ptc.yaml with one more server after the others. Comments and formatting stay, unless the list of servers is written in
 * brackets.
 *
 * @param text a valid configuration.
 */
export function addServer(text: string, entry: ServerEntry): string {
  for (const added of [insertAfterLast(text, entry), appendList(text, entry)]) {
    if (added !== undefined && isAdded(text, added, entry)) return added;
  }
  const document = parseDocument(text);
  const servers = document.get("servers");
  if (isSeq(servers)) servers.add(document.createNode(entry));
  else {
    const list = document.createNode([entry]);
    // The parser attaches a comment after `servers:` to the missing value.
    const empty = document.get("servers", true);
    if (isNode(empty) && empty.comment) list.commentBefore = empty.comment;
    document.set("servers", list);
  }
  return document.toString({ lineWidth: 0 });
}

/** Puts the entry on the lines after the last one of a list of servers that has one `- ` entry a line. */
function insertAfterLast(text: string, entry: ServerEntry): string | undefined {
  const document = parseDocument(text);
  const servers = document.get("servers");
  if (!isSeq(servers) || servers.flow === true || servers.items.length === 0) return undefined;
  const last = servers.items.at(-1);
  const start = servers.range?.[0];
  const end = (last as { range?: [number, number, number] | null }).range?.[1];
  if (start === undefined || end === undefined) return undefined;
  const indent = start - (text.lastIndexOf("\n", start - 1) + 1);
  // The value may end with the line feed itself, as a block of text does.
  const lineEnd = text[end - 1] === "\n" ? end : text.indexOf("\n", end);
  const at = lineEnd < 0 ? text.length : lineEnd + (text[end - 1] === "\n" ? 0 : 1);
  const before = text.slice(0, at);
  return `${before}${before.endsWith("\n") ? "" : "\n"}${render(entry, indent)}${text.slice(at)}`;
}

/** Adds a list of servers at the end of a file without one. */
function appendList(text: string, entry: ServerEntry): string | undefined {
  const { contents } = parseDocument(text);
  if (contents !== null && !(isMap(contents) && contents.flow !== true)) return undefined;
  if (isMap(contents) && contents.has("servers")) return undefined;
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}servers:\n${render(entry, 2)}`;
}

function render(entry: ServerEntry, indent: number): string {
  return stringify([entry], { lineWidth: 0, blockQuote: false }).replaceAll(/^(?=.)/gm, " ".repeat(indent));
}

/** Whether the second text equals the first with that server added after the others. */
function isAdded(before: string, after: string, entry: ServerEntry): boolean {
  const document = parseDocument(after);
  if (document.errors.length > 0) return false;
  const old: unknown = parseDocument(before).toJS() ?? {};
  if (!isObject(old)) return false;
  const servers = Array.isArray(old.servers) ? old.servers : [];
  return isDeepStrictEqual(document.toJS(), { ...old, servers: [...servers, entry] });
}
