/** Encodes and decodes the JSON texts that records name by their digests. Compresses long texts, and checks texts on reading. */
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import { textDigest } from "../protocol/canonical-json.ts";
import { MAX_BLOB_BYTES } from "./archived-json.ts";

/** Compressing shorter texts costs more time than the space is worth. */
const MIN_COMPRESSED_BYTES = 512;

/** How content is stored. Every Node has Brotli. At its fastest level it starts faster than zstd, which matters for small values. */
const CODEC = { plain: 0, brotli: 1 } as const;
const FASTEST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** Texts that a run under way has handed over count as abandoned after this time. No run takes that long between two large calls. */
export const ABANDONED_AFTER_MS = 3 * 24 * 60 * 60 * 1000;

/** The bytes of a digest, by which stores find its text. */
export function digestBytes(digest: string): Buffer {
  return Buffer.from(digest.slice("sha256:".length), "hex");
}

/** The problem of a stored text, as a phrase that follows its name. */
export type TextProblem = "is missing" | "does not match its digest" | "is too large";

/** A text in a row of a store. Nothing in it is trusted. */
interface StoredText {
  codec: number;
  size: number;
  content: Uint8Array;
}

/** Decodes the text of a row and checks it against its digest. */
export function decodeText(
  row: StoredText,
  digest: string,
): { ok: true; json: string } | { ok: false; problem: TextProblem } {
  if (row.size > MAX_BLOB_BYTES) return { ok: false, problem: "is too large" };
  const bytes = decode(row);
  if (bytes?.length !== row.size || textDigest(bytes) !== digest)
    return { ok: false, problem: "does not match its digest" };
  return { ok: true, json: bytes.toString("utf8") };
}

/** Encodes a text for storage. */
export function encodeText(bytes: Buffer): { codec: number; content: Uint8Array } {
  if (bytes.length >= MIN_COMPRESSED_BYTES) {
    const content = brotliCompressSync(bytes, FASTEST);
    if (content.length < bytes.length) return { codec: CODEC.brotli, content };
  }
  return { codec: CODEC.plain, content: bytes };
}

/** Decodes content, or returns `undefined` if `encodeText` did not write it. Never produces more bytes than `size`. */
function decode({ codec, size, content }: StoredText): Buffer | undefined {
  if (codec === CODEC.plain) return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (codec !== CODEC.brotli) return undefined;
  try {
    return brotliDecompressSync(content, { maxOutputLength: Math.max(size, 1) });
  } catch {
    // No compressor wrote this, so its digest could not match either.
    return undefined;
  }
}
