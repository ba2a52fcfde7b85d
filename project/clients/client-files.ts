/**
 * The files of MCP clients, as ptc changes them: whole, only where nobody has edited them meanwhile, and so that every change can be
 * undone.
 */
import { randomUUID } from "node:crypto";
import { existsSync, realpathSync, statSync } from "node:fs";
import { mkdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  BYTE_ORDER_MARK,
  decodeWithMark,
  encodeFile,
  encodingOf,
  withoutMark,
} from "../../base/file-text.ts";
import { oneLine, visibleLine } from "../../base/visible-text.ts";
import {
  type ClientChange,
  ClientChanges,
  type KeptChange,
  undoChange,
} from "../../configuration/clients/client-changes.ts";
import { type ClientFile, findClientFiles } from "../../configuration/clients/clients.ts";
import { ClientFileError, MAX_CLIENT_FILE_BYTES } from "../../configuration/clients/read-client-file.ts";
import {
  type DoubleEntry,
  findDoubles,
  serversWrittenIn,
  takeOut,
} from "../../configuration/clients/take-over.ts";
import { findConfiguration } from "../../configuration/load.ts";
import type { ServerEntry } from "../../configuration/settings/server-settings.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { linkOutOf } from "../../system/link-out-of.ts";
import { Refusal } from "../refusal.ts";
import { readMarkedFile } from "../text-file.ts";

/** Where a command is called. */
export interface Here {
  env: EnvironmentVariables;
  cwd(): string;
}

/** How often ptc tries to change a file. A client may write it at any moment, and ptc then reads it again. */
const TRIES = 5;

/** Entries of clients' files that start the same servers as ptc.yaml. A client with such an entry has each of their tools twice. */
export interface ServersTwice {
  readonly entries: readonly {
    client: string;
    name: string;
    /** The command, or the URL without its possible secrets, for people. */
    target: string;
    /** The file, as people write it. */
    file: string;
    /** Whether the entry applies to more than this folder. */
    isForAllFolders: boolean;
  }[];
  /** Removes the entries. Each is kept, so that `ptc install --undo` can put it back. @throws Refusal for a file that cannot be changed. */
  takeOut(): Promise<void>;
}

/**
 * Finds the servers of ptc.yaml in the files of clients.
 *
 * @param client only the files of this client, as people call it.
 * @param project the folder of ptc.yaml, without symbolic links.
 * @throws Refusal for a file that cannot be read.
 */
export async function findConfiguredTwice(
  { client, config, project }: { client: string | undefined; config: string | undefined; project: string },
  here: Here,
): Promise<ServersTwice> {
  const { env } = here;
  const found = await findConfiguration({ flag: config, env, cwd: project });
  if (found === undefined) return { entries: [], takeOut: async () => {} };
  const files = findClientFiles(env, project).filter(
    (file) => client === undefined || file.client === client,
  );
  return findTwice(files, { servers: serversWrittenIn(found.text), project }, here);
}

/** Finds servers in files of clients. @throws Refusal for a file that cannot be read. */
export async function findTwice(
  files: readonly ClientFile[],
  { servers, project }: { servers: readonly ServerEntry[]; project: string },
  here: Here,
): Promise<ServersTwice> {
  const doubles: DoubleEntry[] = [];
  for (const file of files) {
    // A link that leads out of the project does not permit ptc to change its target.
    if (linkOutOf(project, file.path) !== undefined) continue;
    const path = realpathSync(file.path);
    const text = await readIfThere(path, project);
    if (text !== undefined)
      doubles.push(...(await findDoubles({ ...file, path }, text, { servers, project })));
  }
  return {
    entries: doubles.map(({ client, name, target, path, keys }) => {
      const inside = relative(project, path);
      const isHere = keys[0] === "projects" || !(inside.startsWith("..") || isAbsolute(inside));
      return { client, name, target, file: shownPath(path, here), isForAllFolders: !isHere };
    }),
    async takeOut() {
      for (const path of new Set(doubles.map((double) => double.path))) {
        const own = doubles.filter((double) => double.path === path);
        await changeFile(path, shownPath(path, here), here, async (text) => {
          const { text: left, changes } = await takeOut(own, text ?? "");
          return { text: text === undefined ? undefined : left, changes };
        });
      }
    },
  };
}

/** Changes that ptc made in files of clients and that are not undone, the oldest first. */
export interface Undoable {
  readonly changes: readonly {
    client: string;
    name: string;
    /** The file, as people write it. */
    file: string;
    /** What undoing does to the entry. */
    undoing: "take out" | "put back" | "as before";
    /** The day of the change. */
    day: string;
  }[];
  /** Undoes them, the newest of each file first, and yields the outcome of each. An entry that others have changed since stays. */
  undo(): AsyncGenerator<UndoneChange>;
}

/** The outcome of undoing one change, for people. */
interface UndoneChange {
  file: string;
  /** What was done, or why nothing was. */
  what: string;
  isRefused: boolean;
}

/**
 * The changes that can be undone.
 *
 * @param which those of a client, as people call it, and those that were made from a folder; by default all.
 */
export function findUndoable(
  which: { client?: string | undefined; project?: string | undefined },
  here: Here,
): Undoable {
  const changes = new ClientChanges(here.env)
    .list()
    .filter(
      ({ change }) =>
        (which.client === undefined || change.client === which.client) &&
        (which.project === undefined || change.project === which.project),
    );
  return {
    changes: changes.map(({ change: { client, name, path, at, before, after } }) => ({
      client,
      name,
      file: shownPath(path, here),
      undoing: before === undefined ? "take out" : after === undefined ? "put back" : "as before",
      day: at.slice(0, 10),
    })),
    undo: () => undoChanges(changes, here),
  };
}

async function* undoChanges(changes: readonly KeptChange[], here: Here): AsyncGenerator<UndoneChange> {
  const kept = new ClientChanges(here.env);
  for (const path of new Set(changes.map(({ change }) => change.path))) {
    const own = changes.filter(({ change }) => change.path === path).reverse();
    const file = shownPath(path, here);
    let done: { id: string; what: string }[] = [];
    let refused: string[] = [];
    await changeFile(path, file, here, async (text) => {
      [done, refused] = [[], []];
      let left = text;
      for (const [index, { id, change }] of own.entries()) {
        let undone = await undoChange(change, left);
        // If ptc was ended after it wrote the file, the entry is as it was before an earlier change.
        if (undone.state === "refused") {
          for (const { change: earlier } of own.slice(index + 1))
            if (isSameEntry(earlier, change) && (await undoChange(earlier, left)).state === "gone")
              undone = { state: "gone" };
        }
        if (undone.state === "refused") {
          refused.push(undone.why);
          continue;
        }
        if (undone.state === "undone") left = undone.text;
        const what = undone.state === "gone" ? "was so already" : undoneText(change);
        done.push({ id, what: `${visibleLine(change.name)}: ${what}` });
      }
      return { text: left, changes: [] };
    });
    for (const { id, what } of done) {
      kept.forget(id);
      yield { file, what, isRefused: false };
    }
    for (const why of refused) yield { file, what: oneLine(why), isRefused: true };
  }
}

function undoneText({ before, after }: ClientChange): string {
  if (before === undefined) return "taken out again";
  return after === undefined ? "put back" : "as it was before";
}

/**
 * Writes a client's file. The changes are kept before it is written, and forgotten if writing fails.
 *
 * @param edit returns the new text for the present one. It is called again if the file was edited meanwhile.
 * @throws Refusal
 */
export async function changeFile(
  path: string,
  shown: string,
  { env }: Pick<Here, "env">,
  edit: (text: string | undefined) => Promise<{ text: string | undefined; changes: readonly ClientChange[] }>,
): Promise<void> {
  const kept = new ClientChanges(env);
  for (let tries = 1; ; tries++) {
    const before = await readIfThere(path, dirname(path));
    const { text, changes } = await edit(before).catch((error: unknown) => {
      throw error instanceof ClientFileError ? new Refusal(`${shown}: ${error.message}`) : error;
    });
    if (text === before) return;
    const earlier = kept.list();
    const folders = before === undefined ? missingFolders(path) : [];
    const ids = keepAll(
      kept,
      changes.map((change) => (folders.length === 0 ? change : { ...change, folders })),
    );
    try {
      await replaceFile(path, before, text);
      if (text === undefined) await removeEmpty(kept.of(path).flatMap((change) => change.folders ?? []));
    } catch (error) {
      for (const id of ids) kept.forget(id);
      if (error instanceof EditedMeanwhileError && tries < TRIES) continue;
      throw error;
    }
    // A change that reverts an earlier one leaves nothing to undo.
    for (const [index, change] of changes.entries()) {
      const last = earlier.findLast((each) => isSameEntry(each.change, change));
      if (last === undefined || !isDeepStrictEqual(last.change.before?.value, change.after)) continue;
      kept.forget(last.id);
      kept.forget(ids[index] ?? "");
    }
    return;
  }
}

/** The folders of a file that do not exist, the outermost first. */
function missingFolders(path: string): string[] {
  const missing: string[] = [];
  for (let folder = dirname(path); !existsSync(folder); folder = dirname(folder)) missing.unshift(folder);
  return missing;
}

/** Removes folders that ptc has made, as far as nothing is in them. @param folders the outermost first. */
async function removeEmpty(folders: readonly string[]): Promise<void> {
  for (const folder of folders.toReversed()) await rmdir(folder).catch(() => {});
}

function isSameEntry(a: ClientChange, b: ClientChange): boolean {
  return a.path === b.path && a.name === b.name && isDeepStrictEqual(a.keys, b.keys);
}

/** @throws Refusal if the folder cannot be written. */
function keepAll(kept: ClientChanges, changes: readonly ClientChange[]): string[] {
  try {
    return changes.map((change) => kept.keep(change));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Refusal(
      `${kept.folder} cannot be written (${code ?? "unknown"}), so that nothing could be undone; nothing was changed`,
    );
  }
}

/** The text of a client's file, with its byte order mark; `undefined` if there is no file. @throws Refusal */
export async function readIfThere(path: string, cwd: string): Promise<string | undefined> {
  try {
    realpathSync(path);
  } catch {
    return undefined;
  }
  return readMarkedFile(path, cwd, MAX_CLIENT_FILE_BYTES);
}

/** A path as people write it: from here, or from home. */
export function shownPath(path: string, { env, cwd }: Here): string {
  const shown = [
    [`${realpathSync(cwd())}/`, ""],
    [`${cwd()}/`, ""],
    [`${env.HOME || homedir()}/`, "~/"],
  ].find(([folder = ""]) => path.startsWith(folder));
  return visibleLine(shown === undefined ? path : `${shown[1]}${path.slice((shown[0] ?? "").length)}`);
}

/** Somebody has edited a file between reading and writing it. */
class EditedMeanwhileError extends Refusal {}

/**
 * Refuses a file of a folder if a link on its path leads out of the folder.
 *
 * @throws Refusal
 */
export function refuseLinkOut(folder: string, path: string): void {
  const link = linkOutOf(folder, path);
  if (link === undefined) return;
  const shown = visibleLine(relative(folder, link));
  throw new Refusal(
    `${shown} is a link that leads out of this folder, and nothing was written through it; remove it`,
  );
}

/**
 * Writes the whole file or nothing, also through a symbolic link. Without a text, removes the file. A file that is there keeps its
 * encoding and its byte order mark.
 *
 * @param before the content of the file when it was read; `undefined` if there was none.
 * @throws EditedMeanwhileError
 * @throws Refusal when it cannot be written.
 */
export async function replaceFile(
  path: string,
  before: string | undefined,
  next: string | undefined,
): Promise<void> {
  try {
    if (before === undefined) {
      if (next === undefined) return;
      await mkdir(dirname(path), { recursive: true });
      return await writeFile(path, next, { flag: "wx" });
    }
    const real = realpathSync(path);
    const there = await readFile(real);
    const encoding = encodingOf(there);
    const text = decodeWithMark(there);
    if (withoutMark(text) !== withoutMark(before))
      throw new EditedMeanwhileError(`${basename(path)} was edited meanwhile, and stays as it is; try again`);
    if (next === undefined) return await rm(real);
    const draft = `${real}.${randomUUID()}`;
    try {
      const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
      await writeFile(draft, encodeFile(`${mark}${withoutMark(next)}`, encoding), {
        flag: "wx",
        mode: statSync(real).mode & 0o777,
      });
      await rename(draft, real);
    } finally {
      await rm(draft, { force: true });
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(`${basename(path)} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}
