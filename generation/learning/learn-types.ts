import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { ArchiveError } from "../../archive/archive-error.ts";
import type { ArchiveStore } from "../../archive/archive-store.ts";
import type { ArchivedRun } from "../../archive/archived-run.ts";
import { LockTaken } from "../../archive/documents.ts";
import { type DatabaseUrl, openArchive, openDocuments } from "../../archive/open-archive.ts";
import { isObject } from "../../base/json.ts";
import { CatalogError } from "../../catalog/catalog-error.ts";
import {
  addObserved,
  isNewerState,
  type LearnedState,
  NOTHING_OBSERVED,
  type Observed,
  parseState,
  renderState,
  typesOf,
} from "../../catalog/learned/learned-state.ts";
import {
  canBeLearned,
  type LearnedOf,
  type LearnedTypes,
  learnedKey,
} from "../../catalog/learned/learned-types.ts";
import { observeShape } from "../../catalog/learned/shape.ts";
import { type StoredCatalog, storedServers } from "../../catalog/store/stored-catalog.ts";
import type { ServerTools } from "../../catalog/tool.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { sharedStorage } from "../../storage/storage.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { LockError, lockFile } from "../../system/lock-file.ts";
import { writePrivateFile } from "../../system/private-file.ts";
import { hideFromGit, PRIVATE_FOLDER_NAME } from "../../system/private-folder.ts";

/** What learning needs, as data that can be sent to a thread. */
export interface LearningTask {
  archive: Configuration["archive"];
  state: StatePlace;
  tools: ReadonlyMap<string, LearnableTool>;
  /** How long to read the archive at most, in milliseconds; unlimited by default. */
  budgetMs?: number | undefined;
}

/** Where a project's observations are kept: in a file, or in the archive's database. */
export interface StatePlace {
  path: string;
  /** The URL of the database. */
  url?: string | undefined;
}

type LearningProject = Pick<Configuration, "directory" | "archive"> & Partial<Pick<Configuration, "storage">>;

/** @throws ArchiveError when the secrets of a shared storage cannot be read. */
export async function statePlace(
  configuration: Pick<LearningProject, "directory" | "storage">,
  env: EnvironmentVariables,
): Promise<StatePlace> {
  const shared = await sharedStorage(configuration, env)?.();
  return { path: stateFile(configuration), url: shared?.url };
}

/** @throws ArchiveError when the secrets of a shared storage cannot be read. */
export async function learningTask(
  configuration: LearningProject,
  env: EnvironmentVariables,
  stored: StoredCatalog | undefined,
  budgetMs?: number,
): Promise<LearningTask> {
  const tools = learnableTools(stored === undefined ? [] : storedServers(stored));
  return { archive: configuration.archive, state: await statePlace(configuration, env), tools, budgetMs };
}

function databaseAt({ url }: StatePlace): DatabaseUrl | undefined {
  return url === undefined ? undefined : async () => url;
}

/**
 * Reads the runs that were archived since the last time, and returns the learned types of the tools as they are defined now.
 *
 * @throws ArchiveError, CatalogError when the archive or the file of observations cannot be used.
 */
export async function learnTypes(task: LearningTask): Promise<LearnedTypes> {
  const { archive: settings, state: place, tools, budgetMs } = task;
  const archive = openArchive({ ...settings, database: databaseAt(place) });
  try {
    if (tools.size === 0 || !(await archive.exists())) return currentTypes(await readState(place), tools);
    const state = await changeState(place, (before) => observeArchive(archive, before, tools, budgetMs));
    return currentTypes(state, tools);
  } finally {
    await archive.close();
  }
}

/** The types that were learned before, for tools as they are defined now. */
export async function knownTypes(task: LearningTask): Promise<LearnedTypes> {
  return currentTypes(await readState(task.state), task.tools);
}

/** Forgets the observations of some tools. Runs that were read before are not read again. */
export async function forgetObserved(
  place: StatePlace,
  isForgotten: (observed: Observed) => boolean,
): Promise<void> {
  await changeState(place, async (before) => ({
    ...before,
    observed: new Map([...before.observed].filter(([, each]) => !isForgotten(each))),
  }));
}

function currentTypes(state: LearnedState, tools: ReadonlyMap<string, LearnableTool>): LearnedTypes {
  const current = new Set([...tools.values()].map(learnedKey));
  return typesOf([...state.observed].flatMap(([key, each]) => (current.has(key) ? [each] : [])));
}

const PAGE = 100;

/** The most calls of one tool in one run that are observed. More calls in the same run add little. */
const MAX_CALLS = 50;

/** Larger results are not observed. */
const MAX_RESULT_BYTES = 4 * 1024 * 1024;

type ReadableArchive = Pick<ArchiveStore, "following" | "read">;

/**
 * Adds observations from the runs that were not read before. Results in the archive are without secrets. Replays are left out,
 * because they repeat what was observed. Damaged runs are left out too.
 *
 * @param budgetMs how long to read at most, in milliseconds. The next time continues from there.
 * @throws ArchiveError for an archive that cannot be read.
 */
async function observeArchive(
  archive: ReadableArchive,
  before: LearnedState,
  tools: ReadonlyMap<string, LearnableTool>,
  budgetMs = Number.POSITIVE_INFINITY,
): Promise<LearnedState> {
  const until = performance.now() + budgetMs;
  let { position, observed } = before;
  const { newest } = await archive.following(position, 1);
  // A new archive has replaced the one that was read before.
  if (newest < position) position = 0;
  for (;;) {
    const { runs } = await archive.following(position, PAGE);
    if (runs.length === 0) return { position, observed };
    for (const { runId, source, tools: called, position: at } of runs) {
      position = at;
      if (source === "replay" || !called.some((name) => tools.has(name))) continue;
      const run = await readSound(archive, runId);
      if (run !== undefined) observed = await observeRun(run, observed, tools);
      await setImmediate();
      if (performance.now() > until) return { position, observed };
    }
  }
}

async function readSound(archive: ReadableArchive, runId: string): Promise<ArchivedRun | undefined> {
  try {
    return await archive.read(runId);
  } catch (error) {
    if (isOneRun(error)) return undefined;
    throw error;
  }
}

async function observeRun(
  run: ArchivedRun,
  before: ReadonlyMap<string, Observed>,
  tools: ReadonlyMap<string, LearnableTool>,
): Promise<ReadonlyMap<string, Observed>> {
  const definitions = new Map(run.record.tools.map(({ tool, digest }) => [tool, digest]));
  const counts = new Map<string, number>();
  let observed = before;
  for (const call of run.record.calls) {
    const tool = tools.get(call.tool);
    const count = counts.get(call.tool) ?? 0;
    const isOfIt = tool?.server === call.server && definitions.get(call.tool) === tool.definition;
    const isWhole = call.ok && call.unkept === undefined && call.result_bytes <= MAX_RESULT_BYTES;
    if (tool === undefined || !isOfIt || !isWhole || count >= MAX_CALLS) continue;
    counts.set(call.tool, count + 1);
    try {
      const outcome = await run.outcomeOf(call);
      const { words, ...of } = tool;
      if (outcome.ok) observed = addObserved(observed, of, observeShape(outcome.data, words));
    } catch (error) {
      if (!isOneRun(error)) throw error;
    }
  }
  return observed;
}

function isOneRun(error: unknown): boolean {
  return error instanceof ArchiveError && ["tampered", "missing", "corrupt"].includes(error.code);
}

/** A tool whose definition does not describe its results. */
interface LearnableTool extends LearnedOf {
  /** The texts that its definition lists as choices. */
  readonly words: ReadonlySet<string>;
}

/** The tools of some servers whose results can be learned, by namespaced name. */
function learnableTools(servers: readonly ServerTools[]): Map<string, LearnableTool> {
  return new Map(
    servers.flatMap(({ name: server, tools }) =>
      tools.filter(canBeLearned).map((tool): [string, LearnableTool] => {
        const of = { server, tool: tool.name, definition: tool.definitionDigest };
        return [tool.namespacedName, { ...of, words: definedWords(tool.inputSchema) }];
      }),
    ),
  );
}

const MAX_BYTES = 64 * 1024 * 1024;
const PATIENCE_MS = 10_000;

/** The file of a project's observations, beside `ptc.yaml`. Like the archive, only the user can read it. */
function stateFile(configuration: { readonly directory: string }): string {
  return join(configuration.directory, PRIVATE_FOLDER_NAME, "learned.json");
}

/** Reads the state. A state that is missing, or that ptc did not write, counts as empty. */
export async function readState(place: StatePlace): Promise<LearnedState> {
  const database = databaseAt(place);
  if (database === undefined) return stateIn(await readText(place.path));
  return stateIn((await openDocuments(database).read(OBSERVED, PROJECT))?.content);
}

/** The document that holds the observations. All who share an archive share its observations. */
const OBSERVED = "learned";
const PROJECT = "archive";

function stateIn(text: Uint8Array | undefined): LearnedState {
  return (text && parseState(text)) ?? NOTHING_OBSERVED;
}

async function readText(path: string): Promise<Uint8Array | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const status = await file.stat();
      return status.isFile() && status.size <= MAX_BYTES ? await file.readFile() : undefined;
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

/**
 * Changes the state while no other process does. The file is replaced as a whole. A state that a newer ptc has written stays as it
 * is. The new observations are then not kept, and are made again the next time.
 *
 * @throws CatalogError `write-failed`, also when another process holds the lock too long.
 */
export async function changeState(
  place: StatePlace,
  change: (state: LearnedState) => Promise<LearnedState>,
): Promise<LearnedState> {
  const database = databaseAt(place);
  return database === undefined ? changeFile(place.path, change) : changeDocument(database, change);
}

async function changeDocument(
  database: DatabaseUrl,
  change: (state: LearnedState) => Promise<LearnedState>,
): Promise<LearnedState> {
  const documents = openDocuments(database);
  const work = async () => {
    const text = (await documents.read(OBSERVED, PROJECT))?.content;
    return changeText(text, change, (next) => documents.write(OBSERVED, PROJECT, Buffer.from(next)));
  };
  try {
    return await documents.withLock(OBSERVED, work, { patienceMs: PATIENCE_MS });
  } catch (cause) {
    if (!(cause instanceof LockTaken)) throw cause;
    throw new CatalogError(
      "write-failed",
      "another ptc is learning types and does not stop: try again later",
    );
  }
}

async function changeFile(
  path: string,
  change: (state: LearnedState) => Promise<LearnedState>,
): Promise<LearnedState> {
  const folder = dirname(path);
  const made = await mkdir(folder, { recursive: true, mode: 0o700 }).catch(refuse(path));
  hideFromGit(folder, made !== undefined);
  const release = await lock(`${path}.lock`);
  try {
    return await changeText(await readText(path), change, (next) => replace(path, next));
  } finally {
    release();
  }
}

async function changeText(
  text: Uint8Array | undefined,
  change: (state: LearnedState) => Promise<LearnedState>,
  write: (text: string) => Promise<unknown>,
): Promise<LearnedState> {
  const before = stateIn(text);
  const after = await change(before);
  if (text !== undefined && isNewerState(text)) return after;
  if (after.position !== before.position || after.observed !== before.observed)
    await write(renderState(after));
  return after;
}

async function lock(path: string): Promise<() => void> {
  try {
    return await lockFile(path, { patienceMs: PATIENCE_MS });
  } catch (cause) {
    if (!(cause instanceof LockError)) return refuse(path)(cause);
    throw new CatalogError(
      "write-failed",
      cause.code === "busy"
        ? `another ptc is learning types and does not let go of ${path}: try again later`
        : cause.message,
    );
  }
}

async function replace(path: string, text: string): Promise<void> {
  await writePrivateFile(path, text).catch(refuse(path));
}

function refuse(path: string): (cause: unknown) => never {
  return (cause) => {
    const { code } = cause as NodeJS.ErrnoException;
    const message = `${path} cannot be written (${code}): check its folder and its disk`;
    throw new CatalogError("write-failed", message, { cause });
  };
}

const MAX_WORDS = 500;
const MAX_WORD_CHARS = 40;
const MAX_DEPTH = 16;

/**
 * The texts that a tool's input schema lists as choices (`enum`, `const`). A result that repeats such a word reveals nothing beyond
 * the definition.
 */
export function definedWords(inputSchema: unknown): ReadonlySet<string> {
  const words = new Set<string>();
  const add = (value: unknown): void => {
    const isWord = typeof value === "string" && /^[A-Za-z][A-Za-z0-9_ -]*$/.test(value);
    if (isWord && value.length <= MAX_WORD_CHARS && words.size < MAX_WORDS) words.add(value);
  };
  const walk = (schema: unknown, depth: number): void => {
    if (depth > MAX_DEPTH) return;
    if (Array.isArray(schema)) for (const each of schema) walk(each, depth + 1);
    if (!isObject(schema) || Array.isArray(schema)) return;
    if (Array.isArray(schema.enum)) for (const each of schema.enum) add(each);
    add(schema.const);
    for (const [name, each] of Object.entries(schema))
      if (name !== "enum" && name !== "default" && name !== "examples") walk(each, depth + 1);
  };
  walk(inputSchema, 0);
  return words;
}
