import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import * as z from "zod/mini";
import { textDigest } from "../../protocol/canonical-json.ts";
import { checkReadable, checkSize, MAX_BLOB_BYTES } from "../archived-json.ts";
import type { Database } from "./database.ts";

/** Compressing shorter texts costs more time than the space is worth. */
const MIN_COMPRESSED_BYTES = 512;

/** How content is stored. Brotli at its fastest is in every Node, and starts faster than zstd, which counts for small values. */
const CODEC = { plain: 0, brotli: 1 } as const;
const FASTEST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** What is wrong with a blob, in words that follow its name. */
export type BlobProblem = "is missing" | "does not match its digest" | "is too large";

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
  const { codec, content } = encode(bytes);
  const insert = "INSERT INTO blobs (digest, codec, size, content) VALUES (?, ?, ?, ?)";
  return { digest, id: db.insert(insert, digestBytes(digest), codec, bytes.length, content) };
}

/** The id of a blob in this database; `undefined` if there is no such blob. */
export function blobIdOf(db: Database, digest: string): number | undefined {
  return db.get(BlobId, "SELECT id FROM blobs WHERE digest = ?", digestBytes(digest))?.id;
}

/** Reads a JSON text and checks it against its digest. A problem is returned, for the caller to report. */
export function readBlob(
  db: Database,
  digest: string,
): { ok: true; json: string; id: number } | { ok: false; problem: BlobProblem } {
  const select = "SELECT id, codec, size, content FROM blobs WHERE digest = ?";
  const row = db.get(BlobRow, select, digestBytes(digest));
  if (row === undefined) return { ok: false, problem: "is missing" };
  if (row.size > MAX_BLOB_BYTES) return { ok: false, problem: "is too large" };
  const bytes = decode(row);
  if (bytes?.length !== row.size || textDigest(bytes) !== digest) {
    return { ok: false, problem: "does not match its digest" };
  }
  return { ok: true, json: bytes.toString("utf8"), id: row.id };
}

function digestBytes(digest: string): Uint8Array {
  return Buffer.from(digest.slice("sha256:".length), "hex");
}

function encode(bytes: Buffer): { codec: number; content: Uint8Array } {
  if (bytes.length >= MIN_COMPRESSED_BYTES) {
    const content = brotliCompressSync(bytes, FASTEST);
    if (content.length < bytes.length) return { codec: CODEC.brotli, content };
  }
  return { codec: CODEC.plain, content: bytes };
}

/** Decodes content; `undefined` if `encode` did not write it. Never makes more bytes than the row's `size`. */
function decode({ codec, size, content }: z.infer<typeof BlobRow>): Buffer | undefined {
  if (codec === CODEC.plain) return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (codec !== CODEC.brotli) return undefined;
  try {
    return brotliDecompressSync(content, { maxOutputLength: Math.max(size, 1) });
  } catch {
    // No compressor wrote this, so its digest could not match either.
    return undefined;
  }
}

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

/** Holds a blob that no run refers to yet, under the name of a run or import. */
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
