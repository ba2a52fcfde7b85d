import { setImmediate } from "node:timers/promises";
import { ArchiveError } from "../../archive/archive-error.ts";
import type { ArchiveStore } from "../../archive/archive-store.ts";
import type { ArchivedRun } from "../../archive/archived-run.ts";
import { openArchive } from "../../archive/open-archive.ts";
import { definedWords } from "../../catalog/learned/defined-words.ts";
import {
  addObserved,
  type LearnedState,
  type Observed,
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
import { changeState, readState, stateFile } from "./state-file.ts";

/** What is needed to learn, as data that a thread can be handed. */
export interface LearningTask {
  archive: Configuration["archive"];
  statePath: string;
  tools: ReadonlyMap<string, LearnableTool>;
  /** How long to read the archive at most, in milliseconds; as long as it takes without it. */
  budgetMs?: number | undefined;
}

export function learningTask(
  configuration: Configuration,
  stored: StoredCatalog | undefined,
  budgetMs?: number,
): LearningTask {
  const tools = learnableTools(stored === undefined ? [] : storedServers(stored));
  return { archive: configuration.archive, statePath: stateFile(configuration), tools, budgetMs };
}

/**
 * Reads what was archived since the last time, and returns the types of the tools as they are defined now.
 *
 * @throws ArchiveError, CatalogError when the archive or the file of observations cannot be used.
 */
export async function learnTypes(task: LearningTask): Promise<LearnedTypes> {
  const { archive: settings, statePath, tools, budgetMs } = task;
  const archive = openArchive(settings);
  try {
    if (tools.size === 0 || !(await archive.exists())) return currentTypes(await readState(statePath), tools);
    const state = await changeState(statePath, (before) =>
      observeArchive(archive, before, tools, { budgetMs }),
    );
    return currentTypes(state, tools);
  } finally {
    await archive.close();
  }
}

/** The types that were learned before, of tools as they are defined now. */
export async function knownTypes(task: LearningTask): Promise<LearnedTypes> {
  return currentTypes(await readState(task.statePath), task.tools);
}

/** Forgets what was observed of some tools. It is not learned again of runs that were read before. */
export async function forgetObserved(
  statePath: string,
  isForgotten: (observed: Observed) => boolean,
): Promise<void> {
  await changeState(statePath, async (before) => ({
    ...before,
    observed: new Map([...before.observed].filter(([, each]) => !isForgotten(each))),
  }));
}

function currentTypes(state: LearnedState, tools: ReadonlyMap<string, LearnableTool>): LearnedTypes {
  const current = new Set([...tools.values()].map(learnedKey));
  return typesOf([...state.observed].flatMap(([key, each]) => (current.has(key) ? [each] : [])));
}

const PAGE = 100;

/** Calls of one tool in one run that are looked at: a run that calls it a thousand times does so for one purpose. */
const MAX_CALLS = 50;

/** Larger results are not looked at. */
const MAX_RESULT_BYTES = 4 * 1024 * 1024;

type ReadableArchive = Pick<ArchiveStore, "following" | "read">;

interface ObserveOptions {
  /** How long to go on at most, in milliseconds. The next time begins where this one stopped. */
  budgetMs?: number | undefined;
}

/**
 * Adds what the runs of an archive that were not read before show of results. Results in the archive are without secrets.
 * Replays are left out, because they repeat what was observed. A run that is not as it was archived is left out.
 *
 * @throws ArchiveError for an archive that cannot be read.
 */
async function observeArchive(
  archive: ReadableArchive,
  before: LearnedState,
  tools: ReadonlyMap<string, LearnableTool>,
  { budgetMs = Number.POSITIVE_INFINITY }: ObserveOptions = {},
): Promise<LearnedState> {
  const until = performance.now() + budgetMs;
  let { position, observed } = before;
  const { newest } = await archive.following(position, 1);
  // Another archive was begun in the place of the one that was read.
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

/** A tool whose definition says nothing of its results. */
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
