import { isDeepStrictEqual } from "node:util";
import { isMap, isNode, isSeq, parseDocument, stringify } from "yaml";
import { isObject } from "../../base/json/is-object.ts";
import type { ServerEntry } from "../schema.ts";

/**
 * The text of a ptc.yaml with one server more, after the others. Comments and formatting stay as they are, but for a list of
 * servers that is written in brackets.
 *
 * @param text a configuration that can be used.
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
    // A comment behind `servers:` is that of the value which it does not have.
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
  // What the value ends with may be the line feed itself, as of a block of text.
  const lineEnd = text[end - 1] === "\n" ? end : text.indexOf("\n", end);
  const at = lineEnd < 0 ? text.length : lineEnd + (text[end - 1] === "\n" ? 0 : 1);
  const before = text.slice(0, at);
  return `${before}${before.endsWith("\n") ? "" : "\n"}${render(entry, indent)}${text.slice(at)}`;
}

/** Puts a list of servers at the end of a file that has none. */
function appendList(text: string, entry: ServerEntry): string | undefined {
  const { contents } = parseDocument(text);
  if (contents !== null && !(isMap(contents) && contents.flow !== true)) return undefined;
  if (isMap(contents) && contents.has("servers")) return undefined;
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}servers:\n${render(entry, 2)}`;
}

function render(entry: ServerEntry, indent: number): string {
  return stringify([entry], { lineWidth: 0, blockQuote: false }).replaceAll(/^(?=.)/gm, " ".repeat(indent));
}

/** Whether the second text says what the first does, with that server after the others. */
function isAdded(before: string, after: string, entry: ServerEntry): boolean {
  const document = parseDocument(after);
  if (document.errors.length > 0) return false;
  const old: unknown = parseDocument(before).toJS() ?? {};
  if (!isObject(old)) return false;
  const servers = Array.isArray(old.servers) ? old.servers : [];
  return isDeepStrictEqual(document.toJS(), { ...old, servers: [...servers, entry] });
}
