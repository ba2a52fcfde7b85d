import * as z from "zod/mini";
import { ArchiveError } from "../../archive-error.ts";
import {
  type FoundRuns,
  MAX_CANDIDATES,
  MAX_OF_INPUT,
  namesSeveral,
  parseReference,
} from "../../reading/run-reference.ts";
import type { Database } from "../file/database.ts";
import { listRunPage } from "./list-runs.ts";

const Text = z.object({ text: z.string() });
const Total = z.object({ total: z.int() });

/**
 * Finds runs by input digest (`sha256:<hex>`), by run id, or by a prefix of either of at least four characters.
 *
 * @throws ArchiveError `bad-reference` for anything else, without a query; `tampered` when none of the runs found can be
 *   listed.
 */
export function findRuns(db: Database, reference: string): FoundRuns {
  const { runIds, digests } = valuesLike(db, reference);
  if (runIds.length + digests.length === 0) return { kind: "none" };
  const [runId] = runIds;
  const [inputDigest] = digests;
  if (runIds.length === 1 && digests.length === 0 && runId !== undefined) {
    const {
      runs: [run],
      damaged: [damaged],
    } = listRunPage(db, { runId, limit: 1 });
    if (damaged !== undefined) throw new ArchiveError("tampered", damaged.message);
    return run === undefined ? { kind: "none" } : { kind: "one", run };
  }
  if (digests.length === 1 && runIds.length === 0 && inputDigest !== undefined)
    return runsOf(db, inputDigest);
  return { kind: "ambiguous", candidates: [...digests, ...runIds].slice(0, MAX_CANDIDATES) };
}

/**
 * The ids of all runs that a reference means, including damaged runs: for an input digest every run of it. Empty when there
 * are none.
 *
 * @throws ArchiveError `bad-reference`, also for an ambiguous reference.
 */
export function findRunIds(db: Database, reference: string): string[] {
  const { runIds, digests } = valuesLike(db, reference);
  if (runIds.length + digests.length > 1) throw namesSeveral(reference);
  const ofInput = "SELECT run_id AS text FROM runs WHERE input_digest = ?";
  return [...runIds, ...digests.flatMap((digest) => db.all(Text, ofInput, digest).map(({ text }) => text))];
}

function valuesLike(db: Database, reference: string): { runIds: string[]; digests: string[] } {
  const { digestPrefix, runIdPrefix } = parseReference(reference);
  return {
    runIds: runIdPrefix === undefined ? [] : valuesFrom(db, "run_id", runIdPrefix),
    digests: digestPrefix === undefined ? [] : valuesFrom(db, "input_digest", digestPrefix),
  };
}

function runsOf(db: Database, inputDigest: string): FoundRuns {
  const { runs, damaged } = listRunPage(db, { inputDigest, limit: MAX_OF_INPUT });
  const [newest] = runs;
  if (newest === undefined && damaged[0] !== undefined) {
    throw new ArchiveError("tampered", damaged[0].message);
  }
  if (newest === undefined) return { kind: "none" };
  if (runs.length === 1) return { kind: "one", run: newest };
  const count = "SELECT count(*) AS total FROM runs WHERE input_digest = ?";
  return { kind: "many", inputDigest, runs, total: db.get(Total, count, inputDigest)?.total ?? runs.length };
}

/** Distinct values of a column with a prefix, at most one more than are shown. Each takes one index lookup. */
function valuesFrom(db: Database, column: "run_id" | "input_digest", prefix: string): string[] {
  const exact = `SELECT ${column} AS text FROM runs WHERE ${column} = ? LIMIT 1`;
  if (db.get(Text, exact, prefix) !== undefined) return [prefix];
  const next = `SELECT ${column} AS text FROM runs WHERE ${column} > ? AND ${column} < ? ORDER BY ${column} LIMIT 1`;
  const found: string[] = [];
  while (found.length <= MAX_CANDIDATES) {
    // "~" sorts after every character of ids and digests.
    const value = db.get(Text, next, found.at(-1) ?? prefix, `${prefix}~`)?.text;
    if (value === undefined) break;
    found.push(value);
  }
  return found;
}
