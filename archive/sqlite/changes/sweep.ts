import * as z from "zod/mini";
import type { Database } from "../file/database.ts";

/** Held blobs count as abandoned after this time: no run takes as long between two calls that are held. */
const ABANDONED_AFTER_MS = 3 * 24 * 60 * 60 * 1000;

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

/** Holds a blob to which no run refers yet, under the name of its run or import. */
export function holdBlob(db: Database, holder: string, blob: number, nowMs: number): void {
  const hold = "INSERT INTO held_blobs (run_id, blob, held_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
  db.run(hold, holder, blob, nowMs);
}

/** Renews the hold on the blobs under a name, so that they are not swept. */
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
