import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import { BYTE_ORDER_MARK } from "../../base/file-text.ts";
import { isObject, parseForeignJson } from "../../base/json.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { writePrivateFileSync } from "../../system/private-file.ts";
import { diffLines } from "../diff-lines.ts";
import type { ClientPlace } from "./clients.ts";
import { type EntryEdit, editEntry, findEntry } from "./edit-entry.ts";
import { ClientFileError } from "./read-client-file.ts";

/*
 * Records of the changes that ptc made in the files of clients, so that they can be undone.
 *
 * Each change of one entry is one file in a private folder of the user. It is written before the client's file. It holds the entry
 * before and after the change, and the piece of text that was replaced. Undoing goes backwards. If the client's file is as ptc left
 * it, the piece is put back, and the file is restored to the byte. If somebody has edited the file since, only the entry is put back,
 * and only if it still is as ptc left it. The rest of the file stays.
 */

const MAX_CHANGE_BYTES = 64 * 1024 * 1024;
const LIMITS = { maxBytes: MAX_CHANGE_BYTES, maxDepth: 136 };
/** The most characters of a line that is shown. */
const MAX_LINE_CHARS = 160;
/** The most changes that are read. */
const MAX_CHANGES = 10_000;

const Entry = z.object({ value: z.record(z.string(), z.unknown()), written: z.optional(z.string()) });

const ClientChange = z.object({
  version: z.literal(1),
  /** When it was made, as an ISO date. */
  at: z.string(),
  /** The folder in which ptc was called. */
  project: z.string(),
  /** The client, for people. */
  client: z.string(),
  /** The absolute path of the file, without symbolic links if the file existed. */
  path: z.string(),
  format: z.enum(["json", "toml"]),
  keys: z.array(z.string()),
  name: z.string(),
  before: z.optional(Entry),
  after: z.optional(z.record(z.string(), z.unknown())),
  /** The folders that were made for the file, the outermost first. */
  folders: z.optional(z.array(z.string())),
  /** In the text that ptc left (with this digest; none for no file), `put` has replaced `taken` at `start`. */
  piece: z.object({
    digest: z.optional(z.string()),
    start: z.number(),
    put: z.string(),
    taken: z.string(),
    /** Whether the file existed before. */
    wasThere: z.boolean(),
  }),
});
export type ClientChange = z.infer<typeof ClientChange>;

/** A change that is kept, and the name of its file. */
export interface KeptChange {
  id: string;
  change: ClientChange;
}

/** The client's file to edit, and the folder in which ptc is called. */
export interface EditedFile extends Pick<ClientPlace, "client" | "path" | "format" | "keys"> {
  project: string;
}

/** The text of a file in which nothing is left. */
const NOTHING_LEFT = { json: "{}\n", toml: "" };

/**
 * Edits one entry, and describes the change. The text is `undefined` if there is no file.
 *
 * @param isOwnFile whether ptc has made the file, which then goes when nothing is left of it. Another file stays, and is empty.
 * @throws ClientFileError
 */
export async function changeEntry(
  file: EditedFile,
  text: string | undefined,
  edit: EntryEdit,
  isOwnFile = false,
): Promise<{ text: string | undefined; change: ClientChange | undefined }> {
  const edited = await editEntry(file, text, edit);
  const mark = text?.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  const after =
    edited === undefined && text !== undefined && !isOwnFile ? mark + NOTHING_LEFT[file.format] : edited;
  if (after === text) return { text, change: undefined };
  const was = await findEntry(file, text, edit.name);
  const is = await findEntry(file, after, edit.name);
  const { client, path, format, keys, project } = file;
  return {
    text: after,
    change: {
      version: 1,
      at: new Date().toISOString(),
      project,
      client,
      path,
      format,
      keys: [...keys],
      name: edit.name,
      before:
        was === undefined ? undefined : { value: was.value as Record<string, unknown>, written: was.written },
      after: is?.value as Record<string, unknown> | undefined,
      piece: pieceBetween(text, after),
    },
  };
}

function pieceBetween(before: string | undefined, after: string | undefined): ClientChange["piece"] {
  const [a, b] = [before ?? "", after ?? ""];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return {
    ...(after !== undefined && { digest: digestOf(after) }),
    start,
    put: b.slice(start, b.length - end),
    taken: a.slice(start, a.length - end),
    wasThere: before !== undefined,
  };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The result of undoing a change. `gone`: the entry already is as it was before. */
export type Undone =
  | { state: "undone"; text: string | undefined }
  | { state: "gone" }
  | { state: "refused"; why: string };

/** Undoes a change in the text of its file, `undefined` for no file. Refuses if others have changed the entry since. */
export async function undoChange(change: ClientChange, text: string | undefined): Promise<Undone> {
  const { piece, before, after, name } = change;
  if (piece.digest === (text === undefined ? undefined : digestOf(text))) {
    const left = text ?? "";
    if (!left.startsWith(piece.put, piece.start)) return { state: "refused", why: "its record is damaged" };
    const was = `${left.slice(0, piece.start)}${piece.taken}${left.slice(piece.start + piece.put.length)}`;
    return { state: "undone", text: piece.wasThere ? was : undefined };
  }
  try {
    const there = (await findEntry(change, text, name))?.value;
    if (isDeepStrictEqual(there, before?.value)) return { state: "gone" };
    if (!isDeepStrictEqual(there, after)) {
      const what =
        there === undefined ? "was removed" : after === undefined ? "is there again" : "was edited";
      return { state: "refused", why: `'${name}' ${what} meanwhile, otherwise than ptc knows it` };
    }
    const mayChange = () => true;
    const without =
      there === undefined ? text : await editEntry(change, text, { name, entry: undefined, mayChange });
    if (before === undefined) {
      const isEmpty = without === undefined && text !== undefined && piece.wasThere;
      return { state: "undone", text: isEmpty ? NOTHING_LEFT[change.format] : without };
    }
    const { value, written } = before;
    const put = { name, mayChange, entry: value };
    // If the original form of the entry no longer fits into the file, only its values are put back.
    const next = await editEntry(change, without, { ...put, written }).catch(() =>
      editEntry(change, without, put),
    );
    return { state: "undone", text: next };
  } catch (error) {
    if (!(error instanceof ClientFileError)) throw error;
    return { state: "refused", why: `the file ${error.message}` };
  }
}

/** The kept changes of a user. */
export class ClientChanges {
  readonly folder: string;

  constructor(env: EnvironmentVariables) {
    const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state");
    this.folder = join(state, "ptc/client-changes");
  }

  /** Keeps a change; returns its id. Only the user can read it, since entries may hold secrets. */
  keep(change: ClientChange): string {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const last = this.list().at(-1)?.id.split("-")[0] ?? "";
    // Names sort in the order of the changes, even if the clock was set back.
    const time = Math.max(Date.now(), Number.parseInt(last, 36) + 1 || 0);
    const id = `${time.toString(36).padStart(9, "0")}-${randomBytes(4).toString("hex")}`;
    writePrivateFileSync(join(this.folder, `${id}.json`), `${JSON.stringify(change)}\n`);
    return id;
  }

  forget(id: string): void {
    rmSync(join(this.folder, `${id}.json`), { force: true });
  }

  /** The changes of one file, the oldest first. @param path without symbolic links. */
  of(path: string): ClientChange[] {
    return this.list().flatMap(({ change }) => (change.path === path ? [change] : []));
  }

  /** All changes, the oldest first. Files that ptc did not write are ignored. */
  list(): KeptChange[] {
    let names: string[];
    try {
      names = readdirSync(this.folder);
    } catch {
      return [];
    }
    return names
      .filter((name) => /^[0-9a-z]+-[0-9a-f]+\.json$/.test(name))
      .sort()
      .slice(-MAX_CHANGES)
      .flatMap((file) => {
        const id = file.slice(0, -".json".length);
        const change = this.#read(join(this.folder, file));
        return change === undefined ? [] : [{ id, change }];
      });
  }

  #read(path: string): ClientChange | undefined {
    try {
      const value = parseForeignJson(readFileSync(path), LIMITS);
      const parsed = ClientChange.safeParse(isObject(value) ? value : undefined);
      return parsed.success ? parsed.data : undefined;
    } catch {
      return undefined;
    }
  }
}

/**
 * The lines of a file that change: removed ones begin with `- `, added ones with `+ `. Lines around them are left out, because
 * other entries may hold secrets, and so are lines that only get or lose their comma.
 */
export function fileChanges(before: string | undefined, after: string | undefined): string[] {
  const edits = diffLines(linesOf(before), linesOf(after)).filter((line) => !line.startsWith("  "));
  const changes: string[] = [];
  for (let index = 0; index < edits.length; index++) {
    const [line = "", next = ""] = edits.slice(index, index + 2);
    const isComma =
      line.startsWith("- ") && next.startsWith("+ ") && withoutComma(line) === withoutComma(next);
    if (isComma) index++;
    else changes.push(line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}...` : line);
  }
  return changes;
}

function linesOf(text: string | undefined): string[] {
  if (text === undefined || text === "") return [];
  return text.replace(/\r?\n$/, "").split(/\r?\n/);
}

function withoutComma(line: string): string {
  return line.slice(2).replace(/,\s*$/, "");
}
