import * as z from "zod/mini";
import type { Database } from "./database.ts";

/** No run takes longer than this. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;

const BlobRef = z.object({ blob: z.int() });
const Size = z.object({ bytes: z.int() });

/** Removes what runs that never ended have left: those of a ptc that was killed. */
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

/** Gives up what was held for a run that will not be stored. */
export function releaseHeld(db: Database, runId: string): void {
  db.transaction(() => {
    const blobs = db.all(BlobRef, "SELECT blob FROM held_blobs WHERE run_id = ?", runId);
    db.run("DELETE FROM held_blobs WHERE run_id = ?", runId);
    dropUnused(db, new Set(blobs.map(({ blob }) => blob)));
  });
}

/** Deletes those of some blobs that nothing refers to any more, and returns how many they were and the bytes they took. */
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
