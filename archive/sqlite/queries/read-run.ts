import * as z from "zod/mini";
import { ArchiveError } from "../../archive-error.ts";
import { namingRun } from "../../archived-run.ts";
import { Instant } from "../../bounds.ts";
import { type ChainEntry, entryDigest, linkTo } from "../../chain.ts";
import {
  parseRecord,
  type ReadText,
  RecordProblem,
  type RunContents,
  readArguments,
  readContents,
  readOutcome,
} from "../../run-contents.ts";
import { type ArchivedOutcome, type CallRecord, digestsIn, type RunRecord } from "../../run-record.ts";
import { summarizeRun, summarizeTools } from "../../run-summary.ts";
import { readBlob } from "../blobs.ts";
import { readChainEnd } from "../file/chain-ends.ts";
import type { Database } from "../file/database.ts";
import { damagedRow } from "./damaged-row.ts";

/** A checked run whose values are read synchronously. */
interface CheckedRun extends RunContents, ChainEntry {
  record: RunRecord;
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
  imported_at: z.nullable(Instant),
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
 * Reads one run and checks all of it: every value against its digest, the record against its own digest, that digest against
 * its place in the chain, and the columns by which the run is found against the record.
 *
 * @throws ArchiveError `tampered`, naming what differs from what was archived; `missing` for an unknown run id.
 */
export function readRun(db: Database, runId: string): CheckedRun {
  const read = (digest: string) => readBlob(db, digest);
  return namingRun(runId, () => {
    const { row, record, contents } = db.snapshot(() => checkRun(db, findRow(db, runId), read));
    return {
      ...contents,
      record,
      recordDigest: row.record_digest,
      importedAt: row.imported_at,
      origin: row.origin,
      argumentsOf: (call: CallRecord) => namingRun(runId, () => readArguments(call, read)),
      outcomeOf: (call: CallRecord) => namingRun(runId, () => readOutcome(call, read)),
    };
  });
}

function findRow(db: Database, runId: string): RunRow {
  const [found] = db.allParsed(RunRow, "SELECT * FROM runs WHERE run_id = ?", runId);
  if (found === undefined) throw new ArchiveError("missing", `run ${runId} is not in the archive ${db.path}`);
  if (found.ok) return found.row;
  throw new ArchiveError("tampered", damagedRow(found.raw, found.columns).message);
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
    "SELECT previous FROM runs WHERE id = ? UNION ALL SELECT previous FROM prunings WHERE id = ?",
    ...[row.id + 1, row.id + 1],
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
  const rows = db.allParsed(
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
  const found = new Set(rows.map((each) => (each.ok ? key(each.row) : "")));
  if (found.size !== expected.length || expected.some((each) => !found.has(each))) {
    throw new RecordProblem("the counts of its calls say something else than the record");
  }
}

/** Checks to which blobs the run refers. Pruning another run would delete a blob to which the reference is missing. */
function checkReferences(db: Database, row: RunRow, record: RunRecord): void {
  const select =
    "SELECT lower(hex(digest)) AS hex FROM run_blobs JOIN blobs ON blobs.id = blob WHERE run = ?";
  const found = db.all(z.object({ hex: z.string() }), select, row.id).map(({ hex }) => `sha256:${hex}`);
  const expected = new Set([row.record_digest, ...digestsIn(record)]);
  if (found.length !== expected.size || found.some((digest) => !expected.has(digest))) {
    throw new RecordProblem("the list of what it refers to says something else than the record");
  }
}
