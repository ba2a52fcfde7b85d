import { setImmediate } from "node:timers/promises";
import { ArchiveError } from "../../archive/archive-error.ts";
import type { ArchiveStore } from "../../archive/archive-store.ts";
import type { ArchivedRun } from "../../archive/reading/archived-run.ts";
import { addObserved, type LearnedState, type Observed } from "../../catalog/learned/learned-state.ts";
import { observeShape } from "../../catalog/learned/observe-shape.ts";
import type { LearnableTool } from "./learnable-tools.ts";

const PAGE = 100;

/** Calls of one tool in one run that are looked at: a run that calls it a thousand times does so for one purpose. */
const MAX_CALLS = 50;

/** Larger results are not looked at. */
const MAX_RESULT_BYTES = 4 * 1024 * 1024;

export type ReadableArchive = Pick<ArchiveStore, "following" | "read">;

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
export async function observeArchive(
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
