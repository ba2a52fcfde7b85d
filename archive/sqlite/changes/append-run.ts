import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { entryDigest, linkTo } from "../../chain.ts";
import type { RunOrigin } from "../../run-intake.ts";
import type { RunRecord } from "../../run-record.ts";
import { type RunSummary, summarizeTools } from "../../run-summary.ts";
import { putBlob } from "../blobs.ts";
import { readChainEnd, writeChainEnd } from "../file/chain-ends.ts";
import type { Database, SqlValue } from "../file/database.ts";

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
