import * as z from "zod/mini";
import { textDigest } from "../../protocol/canonical-json.ts";
import { checkReadable, checkSize } from "../archived-json.ts";
import { ABANDONED_AFTER_MS, decodeText, digestBytes, encodeText, type TextProblem } from "../stored-text.ts";
import type { Database } from "./database.ts";

const BlobRow = z.object({
  id: z.int(),
  codec: z.int(),
  size: z.int(),
  content: z.instanceof(Uint8Array),
});

const BlobId = z.object({ id: z.int() });

/**
 * Stores a JSON text, unless it is stored already. Returns its digest and its id in this database.
 *
 * @throws ArchiveError `unkeepable` for a text that readers would reject.
 */
export function putBlob(db: Database, json: string): { digest: string; id: number } {
  const bytes = Buffer.from(json, "utf8");
  checkSize(bytes.length);
  const digest = textDigest(bytes);
  const known = blobIdOf(db, digest);
  if (known !== undefined) return { digest, id: known };
  checkReadable(json);
  const { codec, content } = encodeText(bytes);
  const insert = "INSERT INTO blobs (digest, codec, size, content) VALUES (?, ?, ?, ?)";
  return { digest, id: db.insert(insert, digestBytes(digest), codec, bytes.length, content) };
}

/** The id of a blob in this database, or `undefined` if there is no such blob. */
export function blobIdOf(db: Database, digest: string): number | undefined {
  return db.get(BlobId, "SELECT id FROM blobs WHERE digest = ?", digestBytes(digest))?.id;
}

/** Reads a JSON text and checks it against its digest. Returns a problem for the caller to report. */
export function readBlob(
  db: Database,
  digest: string,
): { ok: true; json: string; id: number } | { ok: false; problem: TextProblem } {
  const select = "SELECT id, codec, size, content FROM blobs WHERE digest = ?";
  const row = db.get(BlobRow, select, digestBytes(digest));
  if (row === undefined) return { ok: false, problem: "is missing" };
  const read = decodeText(row, digest);
  return read.ok ? { ...read, id: row.id } : read;
}

const BlobRef = z.object({ blob: z.int() });
const Size = z.object({ bytes: z.int() });

/** Removes blobs held for runs that never ended, because their ptc was killed. */
export function sweepAbandoned(db: Database, nowMs: number): void {
  const select = "SELECT blob FROM held_blobs WHERE held_at < ?";
  const abandonedBefore = nowMs - ABANDONED_AFTER_MS;
  if (db.all(BlobRef, `${select} LIMIT 1`, abandonedBefore).length === 0) return;
  db.transaction(() => {
    const blobs = db.all(BlobRef, select, abandonedBefore);
    db.run("DELETE FROM held_blobs WHERE held_at < ?", abandonedBefore);
    dropUnused(db, new Set(blobs.map(({ blob }) => blob)));
  });
}

/** Holds a blob that no run refers to yet, for a run or an import. */
export function holdBlob(db: Database, holder: string, blob: number, nowMs: number): void {
  const hold = "INSERT INTO held_blobs (run_id, blob, held_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
  db.run(hold, holder, blob, nowMs);
}

/** Renews a holder's hold on its blobs, so that they are not swept. */
export function holdOn(db: Database, holder: string, nowMs: number): void {
  db.run("UPDATE held_blobs SET held_at = ? WHERE run_id = ?", nowMs, holder);
}

/** Releases the blobs held for a run that will not be stored. */
export function releaseHeld(db: Database, runId: string): void {
  db.transaction(() => {
    const blobs = db.all(BlobRef, "SELECT blob FROM held_blobs WHERE run_id = ?", runId);
    db.run("DELETE FROM held_blobs WHERE run_id = ?", runId);
    dropUnused(db, new Set(blobs.map(({ blob }) => blob)));
  });
}

/** Deletes those of the given blobs that nothing refers to. Returns their number and the bytes they took on disk. */
export function dropUnused(db: Database, blobs: ReadonlySet<number>): { blobs: number; bytes: number } {
  let dropped = 0;
  let bytes = 0;
  for (const blob of blobs) {
    const unused = `id = ? AND NOT EXISTS (SELECT 1 FROM run_blobs WHERE blob = blobs.id)
      AND NOT EXISTS (SELECT 1 FROM held_blobs WHERE blob = blobs.id)`;
    const size = db.get(Size, `SELECT length(content) AS bytes FROM blobs WHERE ${unused}`, blob);
    if (size === undefined) continue;
    db.run("DELETE FROM blobs WHERE id = ?", blob);
    dropped++;
    bytes += size.bytes;
  }
  return { blobs: dropped, bytes };
}
