import { type LearnedState, type Observed, typesOf } from "../../catalog/learned/learned-state.ts";
import { type LearnedTypes, learnedKey } from "../../catalog/learned/learned-types.ts";
import { type StoredCatalog, storedServers } from "../../catalog/store/stored-catalog.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { openArchive } from "../open-archive.ts";
import { type LearnableTool, learnableTools } from "./learnable-tools.ts";
import { observeArchive } from "./observe-archive.ts";
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
  const archive = openArchive({ archive: settings });
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
