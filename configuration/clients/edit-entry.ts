import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../base/json.ts";
import { isPtcEntry } from "./client-entry.ts";
import type { ClientPlace } from "./client-place.ts";
import { editJsonEntry, type PlacedEdit, placeOfJsonMistake, writtenJsonEntry } from "./edit-json-entry.ts";
import { ClientFileError, readClientFile } from "./import/read-client-file.ts";

const BYTE_ORDER_MARK = "\ufeff";

/** Where a client's servers are in its file. */
export type EntryPlace = Pick<ClientPlace, "path" | "format" | "keys">;

/** What is done to a file: the entry gets these members, or is removed. */
export interface EntryEdit {
  name: string;
  entry: Readonly<Record<string, unknown>> | undefined;
  /** Whether an entry that is there may be changed or removed; by default, only one that starts ptc. */
  mayChange?: ((there: unknown) => boolean) | undefined;
  /** How an entry that is not there is to be written, as `findEntry` gave it. */
  written?: string | undefined;
}

/** An entry of a client's file: what it says, and how it is written, where that can be written again. */
export interface FoundEntry {
  value: unknown;
  written: string | undefined;
}

/** The entry of that name in the text; `undefined` where there is none. @throws ClientFileError */
export async function findEntry(
  { path, format, keys }: EntryPlace,
  text: string | undefined,
  name: string,
): Promise<FoundEntry | undefined> {
  const plain = (text ?? "").replace(BYTE_ORDER_MARK, "");
  if (plain.trim() === "") return undefined;
  const file = await readClientFile(format === "toml" ? "file.toml" : path, plain);
  const value = isObject(file) ? entryAt(file, keys, name) : undefined;
  if (value === undefined) return undefined;
  const write = format === "toml" ? writtenTomlEntry : writtenJsonEntry;
  return { value: structuredClone(value), written: await write(plain, { keys, name }) };
}

/**
 * The text of a client's file after an entry was put in or taken out. All else in the file is left as it is: other
 * entries, members of the entry that ptc does not set, comments, and the form. An unchanged text is the text itself. What was
 * put in and is taken out again leaves the file as it was; `undefined` when nothing is left of it.
 *
 * @param text the text of the file; `undefined` where there is none.
 * @throws ClientFileError whose message continues a sentence that begins with the file's name.
 */
export async function editEntry(
  { path, format, keys }: EntryPlace,
  text: string | undefined,
  { name, entry, mayChange = isPtcEntry, written }: EntryEdit,
): Promise<string | undefined> {
  if (text === undefined && entry === undefined) return undefined;
  const mark = text?.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  const before = (text ?? "").slice(mark.length);
  const file = format === "toml" ? "file.toml" : path;
  const old =
    before.trim() === ""
      ? {}
      : await readClientFile(file, before).catch((error) => tellPlace(error, format, before));
  if (!isObject(old)) throw new ClientFileError("holds no object; mend it, and try again");
  const there = entryAt(old, keys, name);
  if (there !== undefined && !mayChange(there))
    throw new ClientFileError(
      `has a server '${name}' that is not ptc, and was left alone; give another name with --name`,
    );
  if (entry === undefined && there === undefined) return text;
  const expected = withEntry(
    old,
    keys,
    name,
    entry === undefined ? undefined : { ...(there as object), ...entry },
  );
  if (there !== undefined && isDeepStrictEqual(structuredClone(old), structuredClone(expected))) return text;
  const edited =
    format === "toml"
      ? await editTomlEntry(before, { keys, name, entry, there, written })
      : await editJsonEntry(before, { keys, name, entry, there, written });
  const isLeft = edited !== undefined && edited.trim() !== "";
  const after = isLeft ? await readClientFile(file, edited).catch(() => undefined) : {};
  // A member that is there twice, or a form of TOML that is not known here, would have come out otherwise.
  if (!isSame(after, expected, keys))
    throw new ClientFileError(
      `is written in a way that ptc cannot change safely, and was left alone; ${entry === undefined ? "remove" : "add"} '${name}' by hand`,
    );
  return isLeft ? `${mark}${edited}` : undefined;
}

/** @throws ClientFileError naming where the mistake is, as far as that is known. */
async function tellPlace(error: unknown, format: ClientPlace["format"], text: string): Promise<never> {
  if (!(error instanceof ClientFileError)) throw error;
  const place = format === "json" ? await placeOfJsonMistake(text) : undefined;
  const where = place === undefined ? "" : ` (${place})`;
  throw new ClientFileError(`${error.message}${where}; mend it, and try again. Nothing was changed`);
}

/** @throws ClientFileError for members on the way that are no objects. */
function entryAt(file: object, keys: readonly string[], name: string): unknown {
  let at: unknown = file;
  for (const [index, key] of keys.entries()) {
    at = Object.hasOwn(at as object, key) ? (at as Record<string, unknown>)[key] : undefined;
    if (at === undefined) return undefined;
    if (!isObject(at))
      throw new ClientFileError(
        `${keys.slice(0, index + 1).join(".")} is no object; mend it, and try again. Nothing was changed`,
      );
  }
  return Object.hasOwn(at as object, name) ? (at as Record<string, unknown>)[name] : undefined;
}

function withEntry(
  file: Record<string, unknown>,
  [key, ...rest]: readonly string[],
  name: string,
  entry: object | undefined,
): Record<string, unknown> {
  if (key === undefined) {
    const { [name]: _, ...others } = file;
    return entry === undefined ? others : { ...file, [name]: entry };
  }
  const inside = Object.hasOwn(file, key) ? (file[key] as Record<string, unknown>) : {};
  return { ...file, [key]: withEntry(inside, rest, name, entry) };
}

/** Whether two files say the same, but for objects on the way to the servers that may be empty or missing. */
function isSame(a: unknown, b: unknown, keys: readonly string[]): boolean {
  // Parsers differ in the prototypes of what they make, and a copy has none of that.
  return isDeepStrictEqual(structuredClone(withoutEmpty(a, keys)), structuredClone(withoutEmpty(b, keys)));
}

function withoutEmpty(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined || !isObject(value) || !Object.hasOwn(value, key)) return value;
  const inside = withoutEmpty(value[key], rest);
  const { [key]: _, ...others } = value;
  return isObject(inside) && Object.keys(inside).length === 0 ? others : { ...others, [key]: inside };
}

/**
 * The TOML text with the entry set or removed. The parser keeps no comments, so the text is edited line by line; the caller
 * compares what it then says with what it should say.
 */
async function editTomlEntry(
  text: string,
  { keys, name, entry, there, written }: PlacedEdit,
): Promise<string | undefined> {
  const toml = await import("smol-toml");
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const place = [...keys, name];
  const header = `[${place.map(renderKey).join(".")}]`;
  const renderMember = (key: string, value: unknown) => toml.stringify({ [key]: value }).trimEnd();
  if (entry !== undefined && there === undefined) {
    const rendered = [header, ...Object.entries(entry).map(([key, value]) => renderMember(key, value)), ""];
    const table = written ?? rendered.join(eol);
    if (text.trim() === "") return `${text}${table}`;
    return `${text}${text.endsWith("\n") ? "" : eol}${eol}${table}`;
  }
  const lines = linesOf(text);
  const start = lines.findIndex((line) => isHeaderOf(toml.parse, line, place));
  if (start < 0) return text;
  const end = endOfTable(lines, start);
  if (entry === undefined) {
    const own = ofEntry(toml.parse, lines, place);
    const kept = lines.filter((_, index) => !own[index]);
    return withoutBlankBefore(kept, lines, start).join("");
  }
  let section = lines.slice(start, end);
  for (const [key, value] of Object.entries(entry)) {
    const old = (there as Record<string, unknown>)[key];
    if (isDeepStrictEqual(old, value)) continue;
    section = withMember(section, key, `${renderMember(key, value)}${eol}`, old !== undefined, toml.parse);
  }
  return [...lines.slice(0, start), ...section, ...lines.slice(end)].join("");
}

/** How the entry is written in the text: its table and those below it. `undefined` where it is written in another form. */
async function writtenTomlEntry(
  text: string,
  { keys, name }: Pick<PlacedEdit, "keys" | "name">,
): Promise<string | undefined> {
  const { parse } = await import("smol-toml");
  const lines = linesOf(text);
  const isOwn = ofEntry(parse, lines, [...keys, name]);
  const own = lines.filter((_, index) => isOwn[index]);
  return own.length === 0 ? undefined : own.join("").replace(/\n?$/, "\n");
}

function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/);
}

type Parse = (text: string) => unknown;

function isHeaderOf(
  parse: Parse,
  line: string | undefined,
  path: readonly string[],
  orBelow = false,
): boolean {
  const inside = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/.exec((line ?? "").trimEnd())?.[1];
  if (inside === undefined) return false;
  const named = keysOf(parse, inside);
  return (
    named !== undefined &&
    (orBelow ? isDeepStrictEqual(named.slice(0, path.length), path) : isDeepStrictEqual(named, path))
  );
}

/** Which lines belong to the table of an entry or to one below it; so do blank lines between two such tables. */
function ofEntry(parse: Parse, lines: readonly string[], place: readonly string[]): boolean[] {
  const own = lines.map((_, index) => isIn(lines, index, (line) => isHeaderOf(parse, line, place, true)));
  for (let index = 1; index < lines.length; index++) {
    if (lines[index]?.trim() !== "" || !own[index - 1]) continue;
    let next = index;
    while (lines[next]?.trim() === "") next++;
    if (own[next]) own.fill(true, index, next);
  }
  return own;
}

/** The line behind the last line of a table's own members. Comments and blank lines before the next table are the next one's. */
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

/** Takes out one of the blank lines that stood around the table, so that none is left over. */
function withoutBlankBefore(kept: readonly string[], lines: readonly string[], start: number): string[] {
  const isBlank = (line: string | undefined) => line !== undefined && line.trim() === "";
  const isLast = kept.slice(start).every(isBlank);
  if (isBlank(lines[start - 1]) && (isLast || isBlank(kept[start])))
    return [...kept.slice(0, start - 1), ...kept.slice(start)];
  return [...kept];
}

/** The section with one member set. A value may go over several lines. */
function withMember(
  section: readonly string[],
  key: string,
  line: string,
  isThere: boolean,
  parse: (text: string) => unknown,
): string[] {
  if (!isThere) return [...section, line];
  const at = section.findIndex((each) => new RegExp(`^\\s*(?:${key}|"${key}"|'${key}')\\s*=`).test(each));
  if (at < 0) return [...section];
  let end = at + 1;
  while (end < section.length && !isWhole(section.slice(at, end).join(""), parse)) end++;
  return [...section.slice(0, at), line, ...section.slice(end)];
}

function isWhole(text: string, parse: (text: string) => unknown): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The names in a header, or `undefined` where it is none. */
function keysOf(parse: (text: string) => unknown, inside: string): string[] | undefined {
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
