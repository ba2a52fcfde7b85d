import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { Digest } from "../../protocol/digest.ts";
import type { RunRecord } from "../run-record.ts";

/**
 * Runs in one file: gzip over lines of JSON.
 *
 *     {"format":"ptc-archive","version":1}
 *     {"blob":"sha256:...","json":"..."}              a JSON text by its digest, before the first run that names it
 *     {"run":"sha256:...","record":{...}}             a `RunRecord`, by the digest of its canonical JSON
 *     {"runs":1,"blobs":7,"digest":"sha256:..."}      the end: counts, and the digest of all lines before it
 */
const FORMAT = "ptc-archive";
export const PORTABLE_VERSION = 1;

/** The first line. */
export const PortableHeader = z.object({ format: z.literal(FORMAT), version: z.int() });
const count = z.int().check(z.gte(0));
/** Any other line. */
export const PortableLine = z.union([
  z.strictObject({ blob: Digest, json: z.string() }),
  z.strictObject({ run: Digest, record: z.unknown() }),
  z.strictObject({ runs: count, blobs: count, digest: Digest }),
]);

/** Renders the lines of one file, with their line feeds, in the order in which they are asked for. */
export class PortableLines {
  readonly #hash = createHash("sha256");
  readonly #blobs = new Set<string>();
  #runs = 0;

  header(): string {
    return this.#line({ format: FORMAT, version: PORTABLE_VERSION });
  }

  has(digest: string): boolean {
    return this.#blobs.has(digest);
  }

  blob(digest: string, json: string): string {
    this.#blobs.add(digest);
    return this.#line({ blob: digest, json });
  }

  run(digest: string, record: RunRecord): string {
    this.#runs++;
    return this.#line({ run: digest, record });
  }

  end(): string {
    const digest = `sha256:${this.#hash.digest("hex")}`;
    return `${JSON.stringify({ runs: this.#runs, blobs: this.#blobs.size, digest })}\n`;
  }

  #line(value: object): string {
    const line = `${JSON.stringify(value)}\n`;
    this.#hash.update(line);
    return line;
  }
}
