import * as z from "zod/mini";
import { canonicalJson, digestOf } from "../../protocol/canonical-json.ts";
import { ArchiveError } from "../archive-error.ts";
import type { RunOrigin } from "../archive-store.ts";
import { buildRecord, type CallToArchive, keepValues, type RunToArchive } from "../build-record.ts";
import { entryDigest, linkTo } from "../chain.ts";
import type { CallFacts, CallRecord, RunRecord } from "../run-record.ts";
import { type RunSummary, summarizeRun, summarizeTools } from "../run-summary.ts";
import { blobIdOf, holdBlob, holdOn, putBlob } from "./blobs.ts";
import { readChainEnd, writeChainEnd } from "./chain-ends.ts";
import type { Database, SqlValue } from "./database.ts";

const Known = z.object({ record_digest: z.string() });

/** A call that waits for the end of its run, with its texts, or with the blobs that store them. */
export type PendingCall = CallToArchive | HeldCall;

interface HeldCall {
  facts: CallFacts;
  held: { arguments: Blob; outcome: Blob };
}

interface Blob {
  digest: string;
  id: number;
}

/**
 * Stores a finished run in one transaction, completely or not at all. Returns the digest of its record.
 *
 * @throws ArchiveError
 */
export function storeRun(db: Database, run: RunToArchive, calls: readonly PendingCall[]): string {
  const { run_id: runId } = run.facts;
  return db.transaction(() => {
    const blobIds = new Set<number>();
    const put = (json: string): string => {
      const { digest, id } = putBlob(db, json);
      blobIds.add(id);
      return digest;
    };
    const stored = calls.map((call) => storeCall(db, call, blobIds));
    const record = buildRecord(run, stored, put);
    const known = recordDigestOf(db, runId);
    // An earlier thread stored the run and stopped before it could report that.
    if (known !== undefined && known === digestOf(record)) return known;
    const digest = appendRun(db, record, summarizeRun(record, run), blobIds);
    db.run("DELETE FROM held_blobs WHERE run_id = ?", runId);
    return digest;
  });
}

/** The digest of a run's record, or `undefined` for an unknown run. @throws ArchiveError */
export function recordDigestOf(db: Database, runId: string): string | undefined {
  return db.get(Known, "SELECT record_digest FROM runs WHERE run_id = ?", runId)?.record_digest;
}

/**
 * Stores the values of calls of an unfinished run, so that they need not stay in memory. Holds them for that run. A sweep
 * removes them if the run never ends.
 *
 * @throws ArchiveError
 */
export function holdCalls(
  db: Database,
  runId: string,
  calls: readonly PendingCall[],
  nowMs: number,
): PendingCall[] {
  return db.transaction(() => {
    const held = calls.map((call): HeldCall => {
      if ("held" in call) return call;
      const put = putValues(db, call);
      for (const { id } of Object.values(put.held)) holdBlob(db, runId, id, nowMs);
      return put;
    });
    holdOn(db, runId, nowMs);
    return held;
  });
}

function storeCall(db: Database, call: PendingCall, blobIds: Set<number>): CallRecord {
  const { facts, held } = "held" in call ? checkHeld(db, call) : putValues(db, call);
  blobIds.add(held.arguments.id).add(held.outcome.id);
  return { ...facts, arguments: held.arguments.digest, outcome: held.outcome.digest };
}

/** Checks that the blobs of a call are still here, because the archive may have been replaced. @throws ArchiveError */
function checkHeld(db: Database, call: HeldCall): HeldCall {
  for (const { digest, id } of Object.values(call.held)) {
    if (blobIdOf(db, digest) === id) continue;
    const message = `the archive ${db.path} was moved away or deleted while a run was under way: the run was not archived`;
    throw new ArchiveError("failed", message);
  }
  return call;
}

function putValues(db: Database, call: CallToArchive): HeldCall {
  const { facts, ...held } = keepValues(call, (json) => putBlob(db, json));
  return { facts, held };
}

/**
 * Appends a record to the chain, with the rows by which it is found. Must be called in the transaction that stored its
 * blobs. Returns the digest of the record.
 */
export function appendRun(
  db: Database,
  record: RunRecord,
  summary: RunSummary,
  blobIds: ReadonlySet<number>,
  imported?: RunOrigin,
): string {
  const { digest: recordDigest, id: recordBlob } = putBlob(db, canonicalJson(record));
  const head = readChainEnd(db, "head");
  const importedAt = imported?.importedAt ?? null;
  const origin = imported?.origin ?? null;
  const id = head.id + 1;
  const link = linkTo(head.link, entryDigest({ recordDigest, importedAt, origin }));
  insertRow(db, "runs", {
    id,
    record_digest: recordDigest,
    previous: head.link,
    link,
    imported_at: importedAt,
    origin,
    ...summary,
  });
  writeChainEnd(db, "head", { id, link });
  for (const blob of new Set([...blobIds, recordBlob])) {
    db.run("INSERT INTO run_blobs (run, blob) VALUES (?, ?)", id, blob);
  }
  for (const { tool, server, ...counts } of summarizeTools(record.calls)) {
    db.run("INSERT INTO tools (name, server) VALUES (?, ?) ON CONFLICT DO NOTHING", tool, server);
    db.run(
      `INSERT INTO run_tools (tool, started_at, run, replay, calls, failed_calls, duration_ms, result_bytes)
       VALUES ((SELECT id FROM tools WHERE name = ? AND server = ?), ?, ?, ?, ?, ?, ?, ?)`,
      ...[tool, server, record.started_at, id, record.source === "replay" ? 1 : 0],
      ...[counts.calls, counts.failed_calls, counts.duration_ms, counts.result_bytes],
    );
  }
  return recordDigest;
}

/** Inserts a row. The names of table and columns become SQL, so they must be constants of this code. */
function insertRow(db: Database, table: string, row: Readonly<Record<string, SqlValue>>): void {
  const columns = Object.keys(row);
  const places = columns.map(() => "?").join(", ");
  db.run(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`, ...Object.values(row));
}
