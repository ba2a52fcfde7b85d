import * as z from "zod/mini";
import { ArchiveError } from "./archive-error.ts";
import { readBlob } from "./blobs.ts";
import { entryDigest, linkTo, readChainEnd } from "./chain.ts";
import type { Database } from "./database.ts";
import {
  parseRecord,
  type ReadText,
  RecordProblem,
  type RunContents,
  readArguments,
  readContents,
  readOutcome,
} from "./run-contents.ts";
import { type ArchivedOutcome, type CallRecord, digestsIn, type RunRecord } from "./run-record.ts";
import { summarizeRun, summarizeTools } from "./run-summary.ts";

/** An archived run, checked against its digests. */
export interface ArchivedRun extends RunContents {
  record: RunRecord;
  recordDigest: string;
  /** Set for a run that came from another archive. */
  importedAt: number | null;
  origin: string | null;
  /** @throws ArchiveError `tampered` when it was changed since the run was read. */
  argumentsOf(call: CallRecord): unknown;
  /** @throws ArchiveError `tampered` when it was changed since the run was read. */
  outcomeOf(call: CallRecord): ArchivedOutcome;
}

const RunRow = z.looseObject({
  id: z.int(),
  run_id: z.string(),
  record_digest: z.string(),
  previous: z.string(),
  link: z.string(),
  imported_at: z.nullable(z.int()),
  origin: z.nullable(z.string()),
});
type RunRow = z.infer<typeof RunRow>;

const ToolRow = z.object({
  tool: z.string(),
  server: z.string(),
  started_at: z.int(),
  replay: z.int(),
  calls: z.int(),
  failed_calls: z.int(),
  duration_ms: z.number(),
  result_bytes: z.int(),
});

/**
 * Reads one run and checks all of it: every value against its digest, the record against its own, that digest against
 * its place in the chain, and what the run was found by against the record.
 *
 * @throws ArchiveError `tampered`, naming what is not as it was archived; `missing` for a run id that is not here.
 */
export function readRun(db: Database, runId: string): ArchivedRun {
  const read = (digest: string) => readBlob(db, digest);
  return naming(runId, () => {
    const { row, record, contents } = db.snapshot(() => checkRun(db, findRow(db, runId), read));
    return {
      ...contents,
      record,
      recordDigest: row.record_digest,
      importedAt: row.imported_at,
      origin: row.origin,
      argumentsOf: (call: CallRecord) => naming(runId, () => readArguments(call, read)),
      outcomeOf: (call: CallRecord) => naming(runId, () => readOutcome(call, read)),
    };
  });
}

function naming<T>(runId: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RecordProblem)) throw error;
    const message = `run ${runId} is not as it was archived: ${error.message}; do not trust it`;
    throw new ArchiveError("tampered", message, error);
  }
}

function findRow(db: Database, runId: string): RunRow {
  const row = db.get(RunRow, "SELECT * FROM runs WHERE run_id = ?", runId);
  if (row === undefined) throw new ArchiveError("missing", `run ${runId} is not in the archive ${db.path}`);
  return row;
}

function checkRun(
  db: Database,
  row: RunRow,
  read: ReadText,
): { row: RunRow; record: RunRecord; contents: RunContents } {
  checkLink(db, row);
  const text = read(row.record_digest);
  if (!text.ok) throw new RecordProblem(`the record ${text.problem}`);
  const record = parseRecord(text.json);
  const contents = readContents(record, read);
  checkColumns(row, summarizeRun(record, contents));
  checkTools(db, row.id, record);
  checkReferences(db, row, record);
  return { row, record, contents };
}

function checkLink(db: Database, row: RunRow): void {
  const entry = entryDigest({
    recordDigest: row.record_digest,
    importedAt: row.imported_at,
    origin: row.origin,
  });
  if (linkTo(row.previous, entry) !== row.link) {
    throw new RecordProblem("the digest of the record is not the one in the chain");
  }
  const head = readChainEnd(db, "head");
  const next = db.get(
    z.object({ previous: z.string() }),
    "SELECT previous FROM runs WHERE id = ?",
    row.id + 1,
  );
  const follower = row.id === head.id ? head.link : next?.previous;
  if (follower !== undefined && follower !== row.link) {
    throw new RecordProblem("the chain does not go on from its record");
  }
}

function checkColumns(row: RunRow, expected: object): void {
  for (const [column, value] of Object.entries(expected)) {
    if (row[column] !== value)
      throw new RecordProblem(`the column ${column} says something else than the record`);
  }
}

function checkTools(db: Database, id: number, record: RunRecord): void {
  const rows = db.all(
    ToolRow,
    `SELECT name AS tool, server, started_at, replay, calls, failed_calls, duration_ms, result_bytes
     FROM run_tools JOIN tools ON tools.id = run_tools.tool WHERE run = ?`,
    id,
  );
  const key = (tool: object) => JSON.stringify(Object.values(tool));
  const expected = summarizeTools(record.calls).map(({ tool, server, ...counts }) =>
    key({
      tool,
      server,
      started_at: record.started_at,
      replay: record.source === "replay" ? 1 : 0,
      ...counts,
    }),
  );
  const found = new Set(rows.map(key));
  if (found.size !== expected.length || expected.some((each) => !found.has(each))) {
    throw new RecordProblem("the counts of its calls say something else than the record");
  }
}

/** What a run does not refer to, pruning another run would delete. */
function checkReferences(db: Database, row: RunRow, record: RunRecord): void {
  const select =
    "SELECT lower(hex(digest)) AS hex FROM run_blobs JOIN blobs ON blobs.id = blob WHERE run = ?";
  const found = db.all(z.object({ hex: z.string() }), select, row.id).map(({ hex }) => `sha256:${hex}`);
  const expected = new Set([row.record_digest, ...digestsIn(record)]);
  if (found.length !== expected.size || found.some((digest) => !expected.has(digest))) {
    throw new RecordProblem("the list of what it refers to says something else than the record");
  }
}
