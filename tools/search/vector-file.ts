import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, parseForeignJson } from "../../base/json.ts";
import type { Vector } from "../../catalog/search/meaning.ts";
import { readOwnFile } from "../../catalog/store/own-file.ts";
import { textDigest } from "../../protocol/canonical-json.ts";

/** Changes when what is embedded of a tool does. */
const FORMAT = 1;
/** The vectors of 40,000 tools by a small model, of 10,000 by a large one. */
const MAX_VECTOR_BYTES = 64 * 1024 * 1024;
const MAX_HEAD_BYTES = 16 * 1024 * 1024;
const FLOAT_BYTES = 4;
const LINE_FEED = 10;

/** Which model vectors are of. Those of another have nothing in common with them. */
export interface VectorOrigin {
  readonly url: string;
  readonly model: string;
}

/** Vectors by the digest of the definition that they are of. */
export type Vectors = ReadonlyMap<string, Vector>;

/**
 * The file of vectors in a folder of ptc's: a line of JSON, which says what they are of and has the digest of the rest, and
 * then the vectors as 32-bit floats, little-endian.
 */
export class VectorFile {
  readonly #folder: string;
  readonly #name: string;
  readonly #origin: VectorOrigin;

  constructor(folder: string, name: string, origin: VectorOrigin) {
    this.#folder = folder;
    this.#name = name;
    this.#origin = origin;
  }

  /** What the file has; nothing where it is not there, is of another model, or was damaged. Never throws. */
  async read(): Promise<Map<string, Vector>> {
    try {
      const bytes = await readOwnFile(this.#folder, this.#name);
      return bytes === undefined ? new Map() : this.#parse(bytes);
    } catch {
      return new Map();
    }
  }

  /**
   * Puts these vectors into the place of the file in one step, as many of the first as it may hold.
   *
   * @throws Error of the file system.
   */
  async write(vectors: Vectors): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const draft = join(this.#folder, `${this.#name}.${randomUUID()}.draft`);
    try {
      await writeFile(draft, this.#render(vectors), { mode: 0o600, flag: "wx" });
      await rename(draft, join(this.#folder, this.#name));
    } catch (error) {
      await rm(draft, { force: true }).catch(() => {});
      throw error;
    }
  }

  #render(vectors: Vectors): Buffer {
    const dimensions = vectors.values().next().value?.length ?? 0;
    const room = dimensions === 0 ? 0 : Math.floor(MAX_VECTOR_BYTES / (dimensions * FLOAT_BYTES));
    const kept = [...vectors].filter(([, { length }]) => length === dimensions).slice(0, room);
    const body = Buffer.alloc(kept.length * dimensions * FLOAT_BYTES);
    let at = 0;
    for (const [, vector] of kept) for (const each of vector) at = body.writeFloatLE(each, at);
    const head = {
      format: FORMAT,
      ...this.#origin,
      dimensions,
      sha256: textDigest(body),
      definitions: kept.map(([digest]) => digest),
    };
    return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
  }

  #parse(bytes: Buffer): Map<string, Vector> {
    const end = bytes.indexOf(LINE_FEED);
    const vectors = new Map<string, Vector>();
    if (end < 0 || end > MAX_HEAD_BYTES) return vectors;
    const head = parseForeignJson(bytes.subarray(0, end), { maxBytes: MAX_HEAD_BYTES, maxDepth: 3 });
    const body = bytes.subarray(end + 1);
    if (!isObject(head) || head.format !== FORMAT) return vectors;
    const { url, model, dimensions, definitions, sha256 } = head;
    if (url !== this.#origin.url || model !== this.#origin.model || sha256 !== textDigest(body))
      return vectors;
    if (typeof dimensions !== "number" || !Array.isArray(definitions)) return vectors;
    if (body.length !== definitions.length * dimensions * FLOAT_BYTES) return vectors;
    for (const [index, digest] of definitions.entries()) {
      const from = index * dimensions * FLOAT_BYTES;
      const vector = Float32Array.from({ length: dimensions }, (_, each) =>
        body.readFloatLE(from + each * FLOAT_BYTES),
      );
      if (typeof digest === "string" && vector.every(Number.isFinite)) vectors.set(digest, vector);
    }
    return vectors;
  }
}
