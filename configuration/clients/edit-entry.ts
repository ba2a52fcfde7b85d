import { isDeepStrictEqual } from "node:util";
import { BYTE_ORDER_MARK, withoutMark } from "../../base/file-text.ts";
import { isObject } from "../../base/json.ts";
import { type ClientPlace, isPtcEntry } from "./clients.ts";
import type { PlacedEdit } from "./edit-json-entry.ts";
import { ClientFileError, readClientFile } from "./read-client-file.ts";

/** The place of a client's servers in its file. */
export type EntryPlace = Pick<ClientPlace, "path" | "format" | "keys">;

/** An edit of a file: the entry gets these members, or is removed. */
export interface EntryEdit {
  name: string;
  entry: Readonly<Record<string, unknown>> | undefined;
  /** Whether an existing entry may be changed or removed; by default, only if it starts ptc. */
  mayChange?: ((there: unknown) => boolean) | undefined;
  /** The text with which to write a missing entry, as `findEntry` returned it. */
  written?: string | undefined;
}

/** An entry of a client's file: its value, and its text if that can be written again. */
export interface FoundEntry {
  value: unknown;
  written: string | undefined;
}

/** Edits texts of one format. */
interface Editor {
  /** The text with the entry set or removed; `undefined` when nothing is left. */
  editEntry(text: string, edit: PlacedEdit): string | undefined;
  /** The text of the entry; `undefined` if there is no entry, or its form cannot be written again. */
  writtenEntry(text: string, place: readonly string[]): string | undefined;
  /** Whether a text has nothing but white space and comments. */
  isBlank(text: string): boolean;
  /** The place of the first syntax error, as far as it is known. */
  placeOfMistake(text: string): string | undefined;
}

/** The editor of a format. Only the parsers that are needed are loaded. */
async function editorOf(format: ClientPlace["format"]): Promise<Editor> {
  return format === "toml" ? import("./edit-toml-entry.ts") : import("./edit-json-entry.ts");
}

/** The entry of that name in the text; `undefined` if there is none. @throws ClientFileError */
export async function findEntry(
  { path, format, keys }: EntryPlace,
  text: string | undefined,
  name: string,
): Promise<FoundEntry | undefined> {
  const plain = withoutMark(text ?? "");
  if ((await editorOf(format)).isBlank(plain)) return undefined;
  const file = await readClientFile(format === "toml" ? "file.toml" : path, plain);
  const value = isObject(file) ? entryAt(file, keys, name) : undefined;
  if (value === undefined) return undefined;
  const { writtenEntry } = await editorOf(format);
  return { value: structuredClone(value), written: writtenEntry(plain, [...keys, name]) };
}

/**
 * The text of a client's file after an entry was added or removed. Everything else stays: other entries, members of the entry that ptc
 * does not set, comments, and the form. Without a change, the same text is returned. Adding an entry and removing it again restores
 * the file. Returns `undefined` when nothing is left of the file.
 *
 * @param text the text of the file; `undefined` if there is none.
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
  const old = (await editorOf(format)).isBlank(before)
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
  const editor = await editorOf(format);
  const edited = editor.editEntry(before, { keys, name, entry, there, written });
  const isLeft = edited !== undefined && edited.trim() !== "";
  const after = isLeft ? await readClientFile(file, edited).catch(() => undefined) : {};
  // The result differs if a member occurs twice, or if the editor does not know the form of TOML.
  if (!isSame(after, expected, keys))
    throw new ClientFileError(
      `is written in a way that ptc cannot change safely, and was left alone; ${entry === undefined ? "remove" : "add"} '${name}' by hand`,
    );
  return isLeft ? `${mark}${edited}` : undefined;
}

/** @throws ClientFileError that names the place of the error, as far as it is known. */
async function tellPlace(error: unknown, format: ClientPlace["format"], text: string): Promise<never> {
  if (!(error instanceof ClientFileError)) throw error;
  const place = (await editorOf(format)).placeOfMistake(text);
  const where = place === undefined ? "" : ` (${place})`;
  throw new ClientFileError(`${error.message}${where}; mend it, and try again. Nothing was changed`);
}

/** @throws ClientFileError if a member on the path is not an object. */
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

/** Whether two files are equal, apart from empty or missing objects on the path to the servers. */
function isSame(a: unknown, b: unknown, keys: readonly string[]): boolean {
  // Parsers differ in the prototypes of their objects. Copies do not.
  return isDeepStrictEqual(structuredClone(withoutEmpty(a, keys)), structuredClone(withoutEmpty(b, keys)));
}

function withoutEmpty(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined || !isObject(value) || !Object.hasOwn(value, key)) return value;
  const inside = withoutEmpty(value[key], rest);
  const { [key]: _, ...others } = value;
  return isObject(inside) && Object.keys(inside).length === 0 ? others : { ...others, [key]: inside };
}
