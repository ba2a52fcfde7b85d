import * as z from "zod/mini";
import { ArchiveError } from "./archive-error.ts";
import type { Database } from "./database.ts";
import { type ListedRun, listRuns } from "./list-runs.ts";

/** What a person meant by a digest, a run id or the beginning of one. */
export type FoundRuns =
  | { kind: "one"; run: ListedRun }
  /** Runs of one input, the newest first, of which there are `total`. */
  | { kind: "many"; inputDigest: string; runs: ListedRun[]; total: number }
  | { kind: "none" }
  /** Some of the input digests and run ids that begin so. */
  | { kind: "ambiguous"; candidates: string[] };

const MAX_CANDIDATES = 10;
const MAX_LISTED = 100;
const MIN_PREFIX_CHARS = 4;

const DIGEST_PREFIX = /^(?:sha256:)?([0-9a-f]{4,64})$/;
const RUN_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const Text = z.object({ text: z.string() });
const Total = z.object({ total: z.int() });

/**
 * Finds runs by input digest (`sha256:<hex>`), by run id, or by at least four characters that either begins with.
 *
 * @throws ArchiveError `bad-reference` for anything else, before the database is asked.
 */
export function findRuns(db: Database, reference: string): FoundRuns {
  const { digestPrefix, runIdPrefix } = parseReference(reference);
  const runIds = runIdPrefix === undefined ? [] : valuesFrom(db, "run_id", runIdPrefix);
  const digests = digestPrefix === undefined ? [] : valuesFrom(db, "input_digest", digestPrefix);
  if (runIds.length + digests.length === 0) return { kind: "none" };
  const [runId] = runIds;
  const [inputDigest] = digests;
  if (runIds.length === 1 && digests.length === 0 && runId !== undefined) {
    const [run] = listRuns(db, { runId, limit: 1 });
    return run === undefined ? { kind: "none" } : { kind: "one", run };
  }
  if (digests.length === 1 && runIds.length === 0 && inputDigest !== undefined)
    return runsOf(db, inputDigest);
  return { kind: "ambiguous", candidates: [...digests, ...runIds].slice(0, MAX_CANDIDATES) };
}

function runsOf(db: Database, inputDigest: string): FoundRuns {
  const runs = listRuns(db, { inputDigest, limit: MAX_LISTED });
  const [newest] = runs;
  if (newest === undefined) return { kind: "none" };
  if (runs.length === 1) return { kind: "one", run: newest };
  const count = "SELECT count(*) AS total FROM runs WHERE input_digest = ?";
  return { kind: "many", inputDigest, runs, total: db.get(Total, count, inputDigest)?.total ?? runs.length };
}

function parseReference(reference: string): { digestPrefix?: string; runIdPrefix?: string } {
  const lower = reference.toLowerCase();
  const digest = DIGEST_PREFIX.exec(lower)?.[1];
  const isRunId = lower.length >= MIN_PREFIX_CHARS && beginsRunId(lower);
  if (digest === undefined && !isRunId) {
    // It may hold what steers a terminal.
    const shown = `'${reference.slice(0, 40).replace(/[^ -~]/g, "?")}'`;
    const message = `${shown} finds no run: give the sha256:... of an input, a run id, or at least ${MIN_PREFIX_CHARS} characters of one`;
    throw new ArchiveError("bad-reference", message);
  }
  return {
    ...(digest !== undefined && { digestPrefix: `sha256:${digest}` }),
    ...(isRunId && { runIdPrefix: lower }),
  };
}

function beginsRunId(text: string): boolean {
  const example = "00000000-0000-0000-0000-000000000000";
  return text.length <= example.length && RUN_ID.test(text + example.slice(text.length));
}

/** The distinct values of a column that begin so, one more than are shown at most. Each is one step into its index. */
function valuesFrom(db: Database, column: "run_id" | "input_digest", prefix: string): string[] {
  const exact = `SELECT ${column} AS text FROM runs WHERE ${column} = ? LIMIT 1`;
  if (db.get(Text, exact, prefix) !== undefined) return [prefix];
  const next = `SELECT ${column} AS text FROM runs WHERE ${column} > ? AND ${column} < ? ORDER BY ${column} LIMIT 1`;
  const found: string[] = [];
  while (found.length <= MAX_CANDIDATES) {
    // "~" comes after everything that ids and digests are made of.
    const value = db.get(Text, next, found.at(-1) ?? prefix, `${prefix}~`)?.text;
    if (value === undefined) break;
    found.push(value);
  }
  return found;
}
