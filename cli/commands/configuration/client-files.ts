import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { mkdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, relative } from "node:path";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import {
  BYTE_ORDER_MARK,
  decodeFile,
  decodeWithMark,
  encodeFile,
  encodingOf,
  withoutMark,
} from "../../../base/file-text.ts";
import { countNoun } from "../../../base/quantities.ts";
import { listUpTo, oneLine, visibleLine } from "../../../base/visible-text.ts";
import { claudeRules } from "../../../configuration/clients/claude-code.ts";
import {
  type ClientChange,
  ClientChanges,
  type KeptChange,
  undoChange,
} from "../../../configuration/clients/client-changes.ts";
import type { ServerTools } from "../../../configuration/clients/client-rules.ts";
import { type ClientFile, findClientFiles } from "../../../configuration/clients/clients.ts";
import {
  type ImportedServers,
  type ImportOptions,
  importServers,
} from "../../../configuration/clients/import-servers.ts";
import {
  ClientFileError,
  MAX_CLIENT_FILE_BYTES,
  readClientFile,
} from "../../../configuration/clients/read-client-file.ts";
import {
  type DoubleEntry,
  findDoubles,
  takeOut,
  targetOf,
} from "../../../configuration/clients/take-over.ts";
import type { ServerEntry } from "../../../configuration/settings/server-settings.ts";
import { serverModule } from "../../../protocol/tool-names.ts";
import { linkOutOf } from "../../../system/link-out-of.ts";
import { readMarkedFile, readTextFile } from "../../arguments/text-file.ts";
import { EXIT, type ExitCode, type Surroundings, tell, UsageError, write } from "../../command.ts";
import { layOutTable } from "../../terminal/terminal.ts";

/** How often ptc tries to change a file. A client may write it at any moment, and ptc then reads it again. */
const TRIES = 5;
const MAX_NAMES_CHARS = 200;
const MAX_TARGET_CHARS = 48;

/** What to do with entries that start the same servers as ptc.yaml. `ask` keeps them if nobody can be asked. */
export type TakeOverChoice = "take" | "keep" | "ask";

/** @throws UsageError for flags that contradict each other. */
export function takeOverChoice(flags: { takeOver?: boolean; keep?: boolean }): TakeOverChoice {
  if (flags.takeOver && flags.keep) throw new UsageError("give --take-over or --keep, not both");
  if (flags.takeOver) return "take";
  return flags.keep ? "keep" : "ask";
}

/**
 * Offers to remove the entries in clients' files that start the same servers as ptc.yaml, because a client would otherwise have each
 * of their tools twice. Shows them first. Each entry is kept, so that `ptc install --undo` can put it back.
 *
 * @param project the folder of ptc.yaml, without symbolic links.
 * @returns how many entries were found.
 * @throws UsageError for a file that cannot be changed.
 */
export async function offerTakeOver(
  {
    files,
    servers,
    project,
    choice,
  }: {
    files: readonly ClientFile[];
    servers: readonly ServerEntry[];
    project: string;
    choice: TakeOverChoice;
  },
  surroundings: Surroundings,
): Promise<number> {
  const { stdout, stderr } = surroundings;
  const doubles: DoubleEntry[] = [];
  for (const file of files) {
    // A link that leads out of the project does not permit ptc to change its target.
    if (linkOutOf(project, file.path) !== undefined) continue;
    const path = realpathSync(file.path);
    const text = await readIfThere(path, project);
    if (text !== undefined)
      doubles.push(...(await findDoubles({ ...file, path }, text, { servers, project })));
  }
  if (doubles.length === 0 || choice === "keep") return doubles.length;
  const clients = listUpTo([...new Set(doubles.map(({ client }) => client))], MAX_NAMES_CHARS);
  const have = `${clients} still ${doubles.length === 1 ? "has" : "have"}`;
  const isTerminal = canAsk(surroundings);
  if (choice === "ask" && !isTerminal) {
    const names = listUpTo([...new Set(doubles.map(({ name }) => visibleLine(name)))], MAX_NAMES_CHARS);
    await tell(
      stderr,
      `${have} ${names} beside ptc: \`ptc install --take-over\` takes them out, \`ptc install --undo\` puts them back`,
    );
    return doubles.length;
  }
  const rows = doubles.map((double) => [
    { text: "-" },
    { text: visibleLine(double.name) },
    { text: oneLine(double.target, MAX_TARGET_CHARS) },
    { text: `${double.client}, ${shownPath(double.path, surroundings)}${reachOf(double)}` },
  ]);
  await write(
    choice === "ask" ? stderr : stdout,
    `${have} these beside ptc, so that a model sees each of their tools twice:\n${layOutTable(rows).join("\n")}\n`,
  );
  if (choice === "ask") {
    if (!(await isConfirmed("Take them out? `ptc install --undo` puts them back.", surroundings))) {
      await tell(stderr, "they stay; `ptc install --take-over` takes them out later");
      return doubles.length;
    }
  }
  for (const path of new Set(doubles.map((double) => double.path)))
    await takeOutOf(
      path,
      doubles.filter((double) => double.path === path),
      surroundings,
    );
  const count = countNoun(doubles.length, "entry").replace(/entrys$/, "entries");
  await write(
    stdout,
    `took out ${count}; \`ptc install --undo\` puts ${doubles.length === 1 ? "it" : "them"} back\n`,
  );
  return doubles.length;
}

/** Says whether an entry applies to more than this folder. */
function reachOf({ keys, path, project }: DoubleEntry): string {
  const inside = relative(project, path);
  const isHere = keys[0] === "projects" || !(inside.startsWith("..") || isAbsolute(inside));
  return isHere ? "" : " (for all your folders)";
}

async function takeOutOf(
  path: string,
  doubles: readonly DoubleEntry[],
  surroundings: Surroundings,
): Promise<void> {
  const shown = shownPath(path, surroundings);
  await changeFile(path, shown, surroundings, async (text) => {
    const { text: left, changes } = await takeOut(doubles, text ?? "");
    return { text: text === undefined ? undefined : left, changes };
  });
}

/**
 * Writes a client's file. The changes are kept before it is written, and forgotten if writing fails.
 *
 * @param edit returns the new text for the present one. It is called again if the file was edited meanwhile.
 * @throws UsageError
 */
export async function changeFile(
  path: string,
  shown: string,
  { env }: Pick<Surroundings, "env">,
  edit: (text: string | undefined) => Promise<{ text: string | undefined; changes: readonly ClientChange[] }>,
): Promise<void> {
  const kept = new ClientChanges(env);
  for (let tries = 1; ; tries++) {
    const before = await readIfThere(path, dirname(path));
    const { text, changes } = await edit(before).catch((error: unknown) => {
      throw error instanceof ClientFileError ? new UsageError(`${shown}: ${error.message}`) : error;
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

/** @throws UsageError if the folder cannot be written. */
function keepAll(kept: ClientChanges, changes: readonly ClientChange[]): string[] {
  try {
    return changes.map((change) => kept.keep(change));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `${kept.folder} cannot be written (${code ?? "unknown"}), so that nothing could be undone; nothing was changed`,
    );
  }
}

/**
 * Undoes changes to clients' files, the newest first, and reports the outcome of each. An entry that others have changed since stays as
 * it is.
 *
 * @param changes the oldest first.
 */
export async function undoChanges(
  changes: readonly KeptChange[],
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const kept = new ClientChanges(env);
  let isRefused = false;
  for (const path of new Set(changes.map(({ change }) => change.path))) {
    const own = changes.filter(({ change }) => change.path === path).reverse();
    const shown = shownPath(path, surroundings);
    let done: { id: string; line: string }[] = [];
    let refused: string[] = [];
    await changeFile(path, shown, surroundings, async (text) => {
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
        done.push({ id, line: `${visibleLine(change.name)}: ${what}` });
      }
      return { text: left, changes: [] };
    });
    for (const { id, line } of done) {
      kept.forget(id);
      await write(stdout, `${shown}: ${line}\n`);
    }
    for (const why of refused) {
      isRefused = true;
      await tell(stderr, `${shown}: ${oneLine(why)}; it stays as it is, change it by hand`);
    }
  }
  return isRefused ? EXIT.failed : EXIT.done;
}

function undoneText({ before, after }: ClientChange): string {
  if (before === undefined) return "taken out again";
  return after === undefined ? "put back" : "as it was before";
}

/** The effect of undoing changes, in lines for people. */
export function renderChanges(changes: readonly KeptChange[], surroundings: Surroundings): string {
  const rows = changes.map(({ change }) => {
    const { before, after, name, client, path, at } = change;
    const what = before === undefined ? "-" : after === undefined ? "+" : "~";
    return [
      { text: what },
      { text: visibleLine(name) },
      { text: `${client}, ${shownPath(path, surroundings)}` },
      { text: at.slice(0, 10) },
    ];
  });
  return layOutTable(rows).join("\n");
}

/** The text of a client's file, with its byte order mark; `undefined` if there is no file. @throws UsageError */
export async function readIfThere(path: string, cwd: string): Promise<string | undefined> {
  try {
    realpathSync(path);
  } catch {
    return undefined;
  }
  return readMarkedFile(path, cwd, MAX_CLIENT_FILE_BYTES);
}

/** A path as people write it: from here, or from home. */
export function shownPath(path: string, { env, cwd }: Pick<Surroundings, "env" | "cwd">): string {
  const shown = [
    [`${realpathSync(cwd())}/`, ""],
    [`${cwd()}/`, ""],
    [`${env.HOME || homedir()}/`, "~/"],
  ].find(([folder = ""]) => path.startsWith(folder));
  return visibleLine(shown === undefined ? path : `${shown[1]}${path.slice((shown[0] ?? "").length)}`);
}

/** Somebody has edited a file between reading and writing it. */
class EditedMeanwhileError extends UsageError {}

/**
 * Refuses a file of a folder if a link on its path leads out of the folder.
 *
 * @throws UsageError
 */
export function refuseLinkOut(folder: string, path: string): void {
  const link = linkOutOf(folder, path);
  if (link === undefined) return;
  const shown = visibleLine(relative(folder, link));
  throw new UsageError(
    `${shown} is a link that leads out of this folder, and nothing was written through it; remove it`,
  );
}

/**
 * Writes the whole file or nothing, also through a symbolic link. Without a text, removes the file. A file that is there keeps its
 * encoding and its byte order mark.
 *
 * @param before the content of the file when it was read; `undefined` if there was none.
 * @throws EditedMeanwhileError
 * @throws UsageError when it cannot be written.
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
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${basename(path)} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** A server in a client's file on this machine. */
interface FoundServer {
  entry: ServerEntry;
  /** The client and its file, for people. */
  from: string;
}

/**
 * The servers of the clients on this machine. On a terminal a person chooses among them. In a pipe, the servers of a single file are
 * taken. If there are more files, they are listed, because nobody can choose.
 *
 * @param isAll takes all servers without a question.
 * @throws UsageError when there are none, and when nobody can choose.
 */
export async function findServers(isAll: boolean, surroundings: Surroundings): Promise<ImportedServers> {
  const { env, stdout, stderr } = surroundings;
  const cwd = surroundings.cwd();
  const found = new Map<string, FoundServer>();
  const skipped: ImportedServers["skipped"] = [];
  const sources = new Set<string>();
  const tools: ServerTools[] = [];
  const notes: ImportedServers["notes"] = [];
  for (const file of findClientFiles(env, cwd)) {
    const { client, path } = file;
    const where = `${client}, ${shownPath(path, surroundings)}`;
    const imported = await readQuietly(file, surroundings);
    if (typeof imported === "string") skipped.push({ name: where, why: imported });
    if (typeof imported === "string" || imported === undefined) continue;
    for (const { name, why } of imported.skipped) skipped.push({ name, why: `${why} (${where})` });
    for (const entry of imported.servers) {
      const module = serverModule(entry.name);
      if (found.has(module)) {
        skipped.push({ name: entry.name, why: `one of that name is taken from elsewhere (${where})` });
        continue;
      }
      found.set(module, { entry, from: where });
      sources.add(path);
      tools.push(...imported.tools.filter(({ server }) => server === entry.name));
      notes.push(...imported.notes.filter(({ name }) => name === entry.name));
    }
  }
  const all = [...found.values()];
  if (all.length === 0) {
    const [first] = skipped;
    const why = first === undefined ? "" : `: '${oneLine(first.name, 80)}': ${first.why}`;
    throw new UsageError(
      `--import: no client on this machine has servers that ptc can use${why}; name a file`,
    );
  }
  const take = (chosen: readonly FoundServer[]) => ({
    servers: chosen.map(({ entry }) => entry),
    ...{ skipped, withValues: [], tools },
    notes: notes.filter(({ name }) => chosen.some(({ entry }) => entry.name === name)),
  });
  if (isAll) return take(all);
  const isTerminal = canAsk(surroundings);
  if (!isTerminal && sources.size === 1) return take(all);
  await write(isTerminal ? stderr : stdout, `${renderFound(all)}\n`);
  if (!isTerminal)
    throw new UsageError(
      "these are in more than one file: take all of them with --import --all, or name one file",
    );
  return take(await choose(all, surroundings));
}

/** What is known of a client's file before it is read. */
export function importOptions(
  file: ClientFile,
  { env, cwd }: Pick<Surroundings, "env" | "cwd">,
): ImportOptions {
  const { path, client, pluginRoot } = file;
  const isGemini = file.isGemini ?? /(?:^|[\\/])\.(?:gemini|qwen)[\\/]/.test(path);
  const countsSeconds = file.countsSeconds ?? /cline|roo|kilo|[\\/]mcp_settings\.json$/i.test(path);
  const isClaudes =
    client.startsWith("Claude Code") || /(?:^|[\\/])\.(?:mcp\.json$|claude(?:\.json$|[\\/]))/.test(path);
  return {
    ...{ pluginRoot, isGemini, countsSeconds, home: env.HOME || homedir() },
    rules: isClaudes ? claudeRules(env, cwd()) : undefined,
    readFile: readVariables,
  };
}

const MAX_VARIABLES_BYTES = 1024 * 1024;

function readVariables(path: string): string | undefined {
  try {
    const { size } = statSync(path);
    return size > MAX_VARIABLES_BYTES ? undefined : decodeFile(readFileSync(path));
  } catch {
    return undefined;
  }
}

async function readQuietly(
  file: ClientFile,
  surroundings: Surroundings,
): Promise<ImportedServers | string | undefined> {
  const { path } = file;
  const cwd = surroundings.cwd();
  try {
    const text = await readTextFile(path, cwd, MAX_CLIENT_FILE_BYTES);
    return importServers(await readClientFile(path, text), cwd, importOptions(file, surroundings));
  } catch (error) {
    if (error instanceof ClientFileError) return `its file ${error.message}`;
    if (error instanceof UsageError) return "its file cannot be read";
    throw error;
  }
}

function renderFound(found: readonly FoundServer[]): string {
  const rows = found.map(({ entry, from }, index) => [
    { text: String(index + 1), align: "right" as const },
    { text: entry.name },
    { text: oneLine(targetOf(entry), MAX_TARGET_CHARS) },
    { text: visibleLine(from) },
  ]);
  return layOutTable(rows).join("\n");
}

async function choose(found: readonly FoundServer[], surroundings: Surroundings): Promise<FoundServer[]> {
  for (;;) {
    const answer = await ask("Which? Numbers (1,3-5), all or none [all]: ", surroundings);
    if (answer === undefined) throw new UsageError("nothing was chosen, and nothing was written");
    const chosen = parseChoice(answer, found.length);
    if (chosen !== undefined) return chosen.map((index) => found[index]).filter((each) => each !== undefined);
    await tell(surroundings.stderr, `write numbers from 1 to ${found.length}, all or none`);
  }
}

/** The chosen indices; `undefined` for an invalid choice. */
export function parseChoice(answer: string, count: number): number[] | undefined {
  const text = answer.trim().toLowerCase();
  if (text === "" || text === "all") return Array.from({ length: count }, (_, index) => index);
  if (text === "none") return [];
  const chosen = new Set<number>();
  for (const part of text.split(/[\s,]+/)) {
    const [, first, last = first] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(part) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (first === undefined || from < 1 || to > count || from > to) return undefined;
    for (let number = from; number <= to; number++) chosen.add(number - 1);
  }
  return [...chosen].sort((a, b) => a - b);
}

/** Whether a person at a terminal can be asked. */
export function canAsk({ stdin, stderr }: Pick<Surroundings, "stdin" | "stderr">): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** Asks for a yes. Anything else is a no. */
export async function isConfirmed(question: string, surroundings: Surroundings): Promise<boolean> {
  return /^\s*y(?:es)?\s*$/i.test((await ask(`${question} [y/N]: `, surroundings)) ?? "");
}

/** A line that a person types; `undefined` on Ctrl-C and at the end of input. */
export function ask(prompt: string, { stdin, stderr }: Surroundings): Promise<string | undefined> {
  const reader = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
  return new Promise<string | undefined>((resolve) => {
    reader.on("SIGINT", () => resolve(undefined));
    reader.on("close", () => resolve(undefined));
    reader.question(prompt, resolve);
  }).finally(() => reader.close());
}
