import { isDeepStrictEqual } from "node:util";
import { parse, stringify } from "smol-toml";
import type { PlacedEdit } from "./edit-json-entry.ts";

/**
 * The TOML text with the entry set or removed. The parser drops comments, so the text is edited line by line. The caller compares the
 * parsed result with the expected value.
 */
export function editEntry(
  text: string,
  { keys, name, entry, there, written }: PlacedEdit,
): string | undefined {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const place = [...keys, name];
  const header = `[${place.map(renderKey).join(".")}]`;
  const renderMember = (key: string, value: unknown) => stringify({ [key]: value }).trimEnd();
  if (entry !== undefined && there === undefined) {
    const rendered = [header, ...Object.entries(entry).map(([key, value]) => renderMember(key, value)), ""];
    const table = written ?? rendered.join(eol);
    if (text.trim() === "") return `${text}${table}`;
    return `${text}${text.endsWith("\n") ? "" : eol}${eol}${table}`;
  }
  const lines = linesOf(text);
  const start = lines.findIndex((line) => isHeaderOf(line, place));
  if (start < 0) return text;
  const end = endOfTable(lines, start);
  if (entry === undefined) {
    const own = ofEntry(lines, place);
    const kept = lines.filter((_, index) => !own[index]);
    return withoutBlankBefore(kept, lines, start).join("");
  }
  let section = lines.slice(start, end);
  for (const [key, value] of Object.entries(entry)) {
    const old = (there as Record<string, unknown>)[key];
    if (isDeepStrictEqual(old, value)) continue;
    section = withMember(section, key, `${renderMember(key, value)}${eol}`, old !== undefined);
  }
  return [...lines.slice(0, start), ...section, ...lines.slice(end)].join("");
}

/** The text of the entry: its table and the tables below it. `undefined` if it is written in another form. */
export function writtenEntry(text: string, place: readonly string[]): string | undefined {
  const lines = linesOf(text);
  const isOwn = ofEntry(lines, place);
  const own = lines.filter((_, index) => isOwn[index]);
  return own.length === 0 ? undefined : own.join("").replace(/\n?$/, "\n");
}

/** Whether a text has nothing but white space. Comments alone are TOML. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** The parser does not say where a mistake is. */
export function placeOfMistake(): undefined {}

function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/);
}

function isHeaderOf(line: string | undefined, path: readonly string[], orBelow = false): boolean {
  const inside = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/.exec((line ?? "").trimEnd())?.[1];
  if (inside === undefined) return false;
  const named = keysOf(inside);
  return (
    named !== undefined &&
    (orBelow ? isDeepStrictEqual(named.slice(0, path.length), path) : isDeepStrictEqual(named, path))
  );
}

/** Which lines belong to the table of an entry or to one below it; so do blank lines between two such tables. */
function ofEntry(lines: readonly string[], place: readonly string[]): boolean[] {
  const own = lines.map((_, index) => isIn(lines, index, (line) => isHeaderOf(line, place, true)));
  for (let index = 1; index < lines.length; index++) {
    if (lines[index]?.trim() !== "" || !own[index - 1]) continue;
    let next = index;
    while (lines[next]?.trim() === "") next++;
    if (own[next]) own.fill(true, index, next);
  }
  return own;
}

/** The line after the table's last member. Comments and blank lines before the next table belong to the next one. */
function endOfTable(lines: readonly string[], start: number): number {
  let end = start + 1;
  while (end < lines.length && !/^\s*\[/.test(lines[end] ?? "")) end++;
  while (end > start + 1 && /^\s*(?:#.*)?$/.test((lines[end - 1] ?? "").trimEnd())) end--;
  return end;
}

/** Whether a line belongs to a table whose header is wanted. */
function isIn(lines: readonly string[], index: number, isWanted: (line: string) => boolean): boolean {
  for (let start = index; start >= 0; start--) {
    const line = lines[start] ?? "";
    if (/^\s*\[/.test(line)) return isWanted(line) && index < endOfTable(lines, start);
  }
  return false;
}

/** Removes one of the blank lines around the removed table, so that none is left over. */
function withoutBlankBefore(kept: readonly string[], lines: readonly string[], start: number): string[] {
  const isBlank = (line: string | undefined) => line !== undefined && line.trim() === "";
  const isLast = kept.slice(start).every(isBlank);
  if (isBlank(lines[start - 1]) && (isLast || isBlank(kept[start])))
    return [...kept.slice(0, start - 1), ...kept.slice(start)];
  return [...kept];
}

/** The section with one member set. A value may span several lines. */
function withMember(section: readonly string[], key: string, line: string, isThere: boolean): string[] {
  if (!isThere) return [...section, line];
  const at = section.findIndex((each) => new RegExp(`^\\s*(?:${key}|"${key}"|'${key}')\\s*=`).test(each));
  if (at < 0) return [...section];
  let end = at + 1;
  while (end < section.length && !isWhole(section.slice(at, end).join(""))) end++;
  return [...section.slice(0, at), line, ...section.slice(end)];
}

function isWhole(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The names in a header; `undefined` for a line that is not a header. */
function keysOf(inside: string): string[] | undefined {
  try {
    const names: string[] = [];
    let at: unknown = parse(`[${inside}]`);
    while (typeof at === "object" && at !== null) {
      const [key] = Object.keys(at);
      if (key === undefined) break;
      names.push(key);
      at = (at as Record<string, unknown>)[key];
    }
    return names;
  } catch {
    return undefined;
  }
}

function renderKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}
