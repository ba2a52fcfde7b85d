import { ArchiveError } from "./archive-error.ts";
import type { ListedRun, PageFilter, RunPage } from "./listed-run.ts";

/** What a reference means: a digest, a run id or a prefix of one. */
export type FoundRuns =
  | { kind: "one"; run: ListedRun }
  /** The newest runs of one input, newest first; `total` counts all of them. */
  | { kind: "many"; inputDigest: string; runs: ListedRun[]; total: number }
  | { kind: "none" }
  /** Some of the input digests and run ids with this prefix. */
  | { kind: "ambiguous"; candidates: string[] };

/** The most candidates that are named. */
export const MAX_CANDIDATES = 10;
/** The most runs of one input that are listed. */
const MAX_OF_INPUT = 100;
const MIN_PREFIX_CHARS = 4;

const DIGEST_PREFIX = /^(?:sha256:)?([0-9a-f]{4,64})$/;
const RUN_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The prefixes that an input digest or a run id must have to match a reference. The reference may be a prefix of either.
 *
 * @throws ArchiveError `bad-reference` for text that is neither a digest, a run id, nor a prefix of at least four characters.
 */
export function parseReference(reference: string): { digestPrefix?: string; runIdPrefix?: string } {
  const lower = reference.toLowerCase();
  const digest = DIGEST_PREFIX.exec(lower)?.[1];
  const isRunId = lower.length >= MIN_PREFIX_CHARS && beginsRunId(lower);
  if (digest === undefined && !isRunId) {
    // The text may contain escape sequences for a terminal.
    const shown = `'${reference.slice(0, 40).replace(/[^ -~]/g, "?")}'`;
    const message = `${shown} names no run: give the sha256:... of an input, a run id, or at least ${MIN_PREFIX_CHARS} characters of one`;
    throw new ArchiveError("bad-reference", message);
  }
  return {
    ...(digest !== undefined && { digestPrefix: `sha256:${digest}` }),
    ...(isRunId && { runIdPrefix: lower }),
  };
}

/** The ids of runs and the digests of inputs that a reference may mean. */
export interface Meant {
  runIds: readonly string[];
  digests: readonly string[];
}

/**
 * Finds the runs that a reference means.
 *
 * @param list lists runs of a store.
 * @param countOf counts the runs of an input.
 * @throws ArchiveError `tampered` when none of the runs found can be listed.
 */
export function findMeant(
  meant: Meant,
  list: (filter: PageFilter) => Pick<RunPage, "runs" | "damaged">,
  countOf: (inputDigest: string) => number,
): FoundRuns {
  const asked = filterFor(meant);
  return "kind" in asked ? asked : foundAmong(list(asked), asked.inputDigest, countOf);
}

/** The filter that selects the runs, or the result if no lookup is necessary. */
export function filterFor({
  runIds,
  digests,
}: Meant): PageFilter | Extract<FoundRuns, { kind: "none" | "ambiguous" }> {
  if (runIds.length + digests.length > 1)
    return { kind: "ambiguous", candidates: [...digests, ...runIds].slice(0, MAX_CANDIDATES) };
  const [[runId], [inputDigest]] = [runIds, digests];
  if (inputDigest !== undefined) return { inputDigest, limit: MAX_OF_INPUT };
  return runId === undefined ? { kind: "none" } : { runId, limit: MAX_OF_INPUT };
}

/**
 * The result for the runs that a filter selected.
 *
 * @param inputDigest the digest that the filter had.
 * @param countOf counts all runs of an input.
 * @throws ArchiveError `tampered` when none of them can be listed.
 */
export function foundAmong(
  { runs, damaged }: Pick<RunPage, "runs" | "damaged">,
  inputDigest: string | undefined,
  countOf: (inputDigest: string) => number,
): FoundRuns {
  const [newest] = runs;
  if (newest === undefined && damaged[0] !== undefined)
    throw new ArchiveError("tampered", damaged[0].message);
  if (newest === undefined) return { kind: "none" };
  if (inputDigest === undefined || runs.length === 1) return { kind: "one", run: newest };
  return { kind: "many", inputDigest, runs, total: countOf(inputDigest) };
}

/** The error for an ambiguous reference where one run is needed. */
export function namesSeveral(reference: string): ArchiveError {
  const message = `several runs or inputs begin with ${reference}: give more of it`;
  return new ArchiveError("bad-reference", message);
}

function beginsRunId(text: string): boolean {
  const example = "00000000-0000-0000-0000-000000000000";
  return text.length <= example.length && RUN_ID.test(text + example.slice(text.length));
}
