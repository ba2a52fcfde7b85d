import { createHash } from "node:crypto";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import * as z from "zod/mini";
import { ArchiveError } from "./archive-error.ts";
import type { Database } from "./database.ts";
import { MAX_JSON_DEPTH, nestsTooDeep } from "./parse-json.ts";

/** Largest text that one blob may hold. More than the wall lets through in one message. */
export const MAX_BLOB_BYTES = 128 * 1024 * 1024;

/** Texts shorter than this take more time to compress than they give back. */
const MIN_COMPRESSED_BYTES = 512;

/** Brotli at its fastest: quicker to start than zstd, which is what counts for many small values, and in every Node. */
const CODEC = { plain: 0, brotli: 1 } as const;
const FASTEST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** What was wrong with a blob that was read. */
export type BlobProblem = "is missing" | "does not match its digest" | "is too large";

const BlobRow = z.object({
  id: z.int(),
  codec: z.int(),
  size: z.int(),
  content: z.instanceof(Uint8Array),
});

const BlobId = z.object({ id: z.int() });

/** `sha256:<hex>` over the UTF-8 of a text. */
export function textDigest(text: string | Uint8Array): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** Stores a JSON text, unless it is there, and returns its digest and the id it has in this database. */
export function putBlob(db: Database, json: string): { digest: string; id: number } {
  const bytes = Buffer.from(json, "utf8");
  if (bytes.length > MAX_BLOB_BYTES) {
    const message = `a value of ${bytes.length} bytes is too large to archive: ${MAX_BLOB_BYTES} is the most`;
    throw new ArchiveError("failed", message);
  }
  if (nestsTooDeep(bytes)) {
    throw new ArchiveError(
      "failed",
      `a value that nests deeper than ${MAX_JSON_DEPTH} levels cannot be archived`,
    );
  }
  const digest = textDigest(bytes);
  const key = digestBytes(digest);
  const known = db.get(BlobId, "SELECT id FROM blobs WHERE digest = ?", key);
  if (known !== undefined) return { digest, id: known.id };
  const { codec, content } = encode(bytes);
  const insert = "INSERT INTO blobs (digest, codec, size, content) VALUES (?, ?, ?, ?)";
  return { digest, id: db.insert(insert, key, codec, bytes.length, content) };
}

/** Reads a JSON text and checks it against its digest. What is wrong with it is a value, for the caller to name. */
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

/** `undefined` for content that was not written by `encode`. Never makes more bytes than the row announces. */
function decode({ codec, size, content }: z.infer<typeof BlobRow>): Buffer | undefined {
  if (codec === CODEC.plain) return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (codec !== CODEC.brotli) return undefined;
  try {
    return brotliDecompressSync(content, { maxOutputLength: Math.max(size, 1) });
  } catch {
    // Not what a compressor makes: its digest cannot match either.
    return undefined;
  }
}
