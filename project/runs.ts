/** The archived runs of a project: which of them somebody means, and what is done with them. */

import { type ArchiveStore, allRuns, type Pruned } from "../archive/archive-store.ts";
import type { ArchivedRun } from "../archive/archived-run.ts";
import type { DamagedRun, ListedRun, PageFilter } from "../archive/listed-run.ts";
import { readRunFile, writeRunFile } from "../archive/portable/run-files.ts";
import type { FoundRuns } from "../archive/run-reference.ts";
import type { Stats } from "../archive/run-stats.ts";
import { countNoun, estimateTokens } from "../base/quantities.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { archivedOutput } from "../execution/output/archived-output.ts";
import { joinOutput } from "../execution/output/whole-output.ts";
import { FailureType } from "../protocol/failure.ts";
import { readPageAssets } from "../server/pages/page.ts";
import { renderRunPage } from "../server/pages/run-page.ts";
import { type CountedRuns, renderStatsPage } from "../server/pages/stats-page.ts";
import { runAsJson } from "../server/reports/run-json.ts";
import { writePrivateFile } from "../system/private-file.ts";
import { clientSessionOf } from "./local-user.ts";
import type { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";

const MAX_NAMED_RUNS = 5;

/**
 * Finds the run that a reference means. If it means several runs of one input, the newest is chosen, and `others` mentions the rest
 * in one line.
 *
 * @throws Refusal when there is none or the reference is ambiguous; ArchiveError `bad-reference`.
 */
export async function selectRun(
  archive: Pick<ArchiveStore, "find">,
  reference: string,
): Promise<{ run: ListedRun; others?: string }> {
  const found = await archive.find(reference);
  if (found.kind === "one") return { run: found.run };
  const [run, ...rest] = found.kind === "many" ? found.runs : [];
  if (found.kind !== "many" || run === undefined) throw notOne(reference, found);
  const total = found.total - 1;
  const named = rest.slice(0, MAX_NAMED_RUNS).map(({ run_id }) => run_id);
  const more = total > named.length ? ` and ${total - named.length} more` : "";
  return {
    run,
    others: `the newest of ${found.total} runs of this input; the others: ${named.join(", ")}${more}`,
  };
}

/**
 * Finds the distinct ids of all runs that references mean, including damaged runs. An input digest means every run of it.
 *
 * @throws Refusal when a reference matches none; ArchiveError `bad-reference`, also for an ambiguous one.
 */
export async function selectRunIds(
  archive: Pick<ArchiveStore, "findIds">,
  references: readonly string[],
): Promise<string[]> {
  const selected = new Set<string>();
  for (const reference of references) {
    const runIds = await archive.findIds(reference);
    if (runIds.length === 0) throw notOne(reference, { kind: "none" });
    for (const runId of runIds) selected.add(runId);
  }
  return [...selected];
}

/** The reference needs no escaping, because the lookup accepts only digits, letters, dashes and a colon. */
function notOne(reference: string, found: FoundRuns): Refusal {
  if (found.kind !== "ambiguous")
    return new Refusal(`no run or input begins with ${reference}; \`ptc runs list\` shows what is archived`);
  const { candidates } = found;
  return new Refusal(`several runs or inputs begin with ${reference}: give more of ${candidates.join(", ")}`);
}

/** The ways in which a run can end, as a filter takes them. */
export const STATUSES: readonly string[] = ["ok", "failed", ...FailureType.options];

/**
 * The newest archived runs that match a filter; none where nothing is archived.
 *
 * @param reference the input whose runs are meant; by default those of every input.
 * @returns `isCut` says whether more than `limit` match.
 * @throws Refusal for a reference that means no run; ArchiveError
 */
export async function findRuns(
  archive: Pick<ArchiveStore, "find" | "list"> | undefined,
  filter: PageFilter,
  reference?: string | undefined,
): Promise<{ runs: readonly ListedRun[]; damaged: readonly DamagedRun[]; isCut: boolean }> {
  if (archive === undefined) return { runs: [], damaged: [], isCut: false };
  const matching =
    reference === undefined
      ? filter
      : { ...filter, inputDigest: (await selectRun(archive, reference)).run.input_digest };
  const { runs, damaged, next } = await archive.list(matching);
  const after = next === undefined ? undefined : await archive.list({ ...matching, before: next, limit: 1 });
  return { runs, damaged, isCut: after?.next !== undefined };
}

/** A run of a list for programs that read it, with what it kept out of a model's context. */
export function describeRun(run: ListedRun) {
  return { ...run, kept_bytes: Math.max(0, run.result_bytes - run.returned_bytes) };
}

/** Counted runs for programs that read them, with the tokens that they kept out of a model's context. */
export function describeStats(counted: Stats) {
  return { ...counted, estimated_kept_tokens: estimateTokens(counted.total.kept_bytes) };
}

/** Imports the runs of a file that `exportRuns` wrote. @param path an absolute path. @throws ArchiveError */
export function importRuns({ runs }: Project, path: string): ReturnType<typeof readRunFile> {
  return readRunFile(runs, path, Date.now());
}

/**
 * Writes runs to one new file.
 *
 * @param references the runs; by default all since `sinceMs`.
 * @param path an absolute path.
 * @throws Refusal when no run matches; ArchiveError
 */
export async function exportRuns(
  archive: ArchiveStore,
  { references, sinceMs }: { references: readonly string[]; sinceMs?: number | undefined },
  path: string,
): Promise<{ exported: readonly string[]; damaged: DamagedRun[] }> {
  const unlisted: DamagedRun[] = [];
  const runIds = references.length > 0 ? await selectRunIds(archive, references) : [];
  if (references.length === 0) {
    const filter = sinceMs === undefined ? {} : { sinceMs };
    for await (const { run_id } of allRuns(archive, filter, (run) => void unlisted.push(run)))
      runIds.push(run_id);
  }
  if (runIds.length === 0 && unlisted.length === 0)
    throw new Refusal("no archived run matches: nothing was written");
  const { exported, damaged } = await writeRunFile(archive, runIds, path);
  return { exported, damaged: [...unlisted, ...damaged] };
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Deletes runs, and what only they hold.
 *
 * @param archive `undefined` if nothing has been archived yet.
 * @param what the runs by reference, or those that are older than so many days; by default than those of the configuration.
 * @throws Refusal if managed settings keep runs for longer, or a reference matches none; ArchiveError
 */
export async function pruneRuns(
  archive: ArchiveStore | undefined,
  what: { references: readonly string[] } | { keepDays: number | undefined },
  configuration: Configuration,
): Promise<{ pruned: Pruned; keepDays: number }> {
  const nowMs = Date.now();
  const isNamed = "references" in what;
  refuseManaged(isNamed ? 0 : what.keepDays, configuration);
  const keepDays = isNamed ? 0 : (what.keepDays ?? configuration.archive.keepDays);
  if (archive === undefined) return { pruned: { runs: 0, blobs: 0, bytes: 0 }, keepDays };
  if (isNamed) {
    const runIds = await selectRunIds(archive, what.references);
    return { pruned: await archive.delete(runIds, nowMs), keepDays };
  }
  // When no days are kept, everything is deleted, including runs whose dates lie in the future.
  const beforeMs = keepDays === 0 ? Number.POSITIVE_INFINITY : Math.max(0, nowMs - keepDays * DAY_MS);
  return { pruned: await archive.prune({ beforeMs, nowMs }), keepDays };
}

function refuseManaged(days: number | undefined, { managed }: Configuration): void {
  const longest = managed.find(({ archive }) => days !== undefined && days < (archive.keep_days ?? 0));
  if (longest !== undefined)
    throw new Refusal(
      `managed settings (${longest.file}) keep runs for ${countNoun(longest.archive.keep_days ?? 0, "day")}; \`ptc runs prune\` alone deletes older ones`,
    );
}

/** A whole run as JSON, in parts. */
export function jsonOfRun(run: ArchivedRun): ReturnType<typeof runAsJson> {
  return runAsJson(run);
}

/** A run as a page that needs no network. */
export function pageOfRun(run: ArchivedRun): Promise<string> {
  return renderRunPage(run, readPageAssets());
}

/** Writes a page that only its owner can read, because it contains answers of servers. @throws Error of the file system. */
export function keepPage(path: string, page: string): Promise<void> {
  return writePrivateFile(path, page);
}

/** All that the program of a run gave out: console, result and stderr. */
export function outputOfRun(run: ArchivedRun): string {
  return joinOutput(archivedOutput(run)).text;
}

/** The most runs that a page lists one by one. */
const MAX_LISTED = 10_000;
/** How many of the most called tools link to their runs. */
const MAX_LINKED_TOOLS = 40;

/** Counted runs as a page that needs no network. @param since what was counted. */
export async function pageOfStats(
  archive: Pick<ArchiveStore, "list">,
  counted: Stats,
  since: { sinceMs?: number },
  nowMs: number,
): Promise<string> {
  const runs = await countedRuns(archive, counted, since);
  return renderStatsPage(counted, readPageAssets(), nowMs, runs);
}

/** The counted runs without replays, for a page to list. */
async function countedRuns(
  archive: Pick<ArchiveStore, "list">,
  { tools }: Stats,
  since: { sinceMs?: number },
): Promise<CountedRuns> {
  const page = await archive.list({ ...since, limit: MAX_LISTED });
  const runs = page.runs.filter(({ source }) => source !== "replay");
  const byTool = new Map<string, ReadonlySet<string>>();
  for (const { tool } of tools.slice(0, MAX_LINKED_TOOLS)) {
    const called = await archive.list({ ...since, tool, limit: MAX_LISTED });
    byTool.set(tool, new Set(called.runs.map(({ run_id }) => run_id)));
  }
  return { runs, byTool };
}

/**
 * Reads `--client-session`: the beginning of a conversation's id, or `current` for the conversation of this shell.
 *
 * @throws Refusal
 */
export function readClientSession(text: string, env: Readonly<Record<string, string | undefined>>): string {
  if (text !== "current") return text;
  const session = clientSessionOf(env);
  if (session !== undefined) return session;
  throw new Refusal(
    "--client-session: no client has started this shell, so there is no current one; give its id",
  );
}
