import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/faults.ts";
import { isObject, parseForeignJson } from "../../base/json.ts";
import { RecentlyUsed } from "../../base/recently-used.ts";
import { settlesWithin } from "../../base/waiting.ts";
import { describedText, parseVector, type Vector } from "../../catalog/search/meaning.ts";
import type { SearchableTool } from "../../catalog/search/searchable-text.ts";
import { readOwnFile } from "../../catalog/store/own-file.ts";
import { textDigest } from "../../protocol/canonical-json.ts";
import { writePrivateFile } from "../../system/private-file.ts";
import { askModel, EndpointError, type EndpointHealth, type ModelEndpoint } from "./model-endpoint.ts";

const BATCH = 32;
/** How long a request in the background may take. A server may have to load its model first. */
const REQUEST_MS = 60_000;
/** While more vectors are computed, finished ones are written to disk at this interval. */
const SAVE_MS = 2_000;
const MAX_QUERIES = 256;
const MAX_TOOLS = 100_000;
/** The length of text that every model accepts. Some refuse longer texts. */
const SHORT_CHARS = 400;

interface ToolVectorsOptions {
  endpoint: ModelEndpoint;
  file: VectorFile;
  health: EndpointHealth;
  /** Receives a line when vectors cannot be kept on disk. */
  onWarning: (message: string) => void;
}

/**
 * The vectors of tools and of queries. Vectors of tools are computed in the background and kept on disk, by the digests of the tools'
 * definitions. Nothing here rejects. A vector that cannot be computed is absent.
 */
export class ToolVectors {
  readonly #options: ToolVectorsOptions;
  readonly #vectors = new Map<string, Vector>();
  #queries = new RecentlyUsed<string, Vector>({ maxEntries: MAX_QUERIES });
  /** The texts of the requested tools, by digest. */
  readonly #texts = new Map<string, string>();
  readonly #missing = new Set<string>();
  readonly #failureListeners = new Set<() => void>();
  #loading: Promise<void> | undefined;
  #filling: Promise<void> | undefined;
  #saving: Promise<void> = Promise.resolve();
  #savedAt = Number.NEGATIVE_INFINITY;
  #hasUnsaved = false;
  #hasWarned = false;

  constructor(options: ToolVectorsOptions) {
    this.#options = options;
  }

  /** Starts to compute the missing vectors of these tools. */
  prepare(tools: readonly SearchableTool[]): void {
    void this.#load().then(() => {
      for (const tool of tools) {
        const digest = tool.definitionDigest;
        if (this.#texts.size < MAX_TOOLS) this.#texts.set(digest, describedText(tool));
        if (!this.#vectors.has(digest) && this.#texts.has(digest)) this.#missing.add(digest);
      }
      if (this.#missing.size > 0) this.#filling ??= this.#fill();
    });
  }

  /** The available vectors, by digest. */
  async known(): Promise<Vectors> {
    await this.#load();
    return this.#vectors;
  }

  /**
   * Resolves when every requested vector is available, when the endpoint fails, or when the time is over. The computed vectors are on
   * disk then.
   */
  async prepared(ms: number): Promise<void> {
    await this.#load();
    if (this.#filling === undefined) return;
    const { health } = this.#options;
    const failed = new Promise<void>((resolve) => {
      if (health.problem !== undefined) resolve();
      this.#failureListeners.add(resolve);
    });
    await settlesWithin(Promise.race([this.#filling, failed]), ms);
    await this.#save();
  }

  /**
   * The vectors of a query's texts; `undefined` when the endpoint does not answer in time. An endpoint with a problem is not asked.
   */
  async ofTexts(texts: readonly string[], ms: number): Promise<Vector[] | undefined> {
    const unknown = texts.filter((text) => !this.#queries.has(text));
    const { health } = this.#options;
    if (unknown.length > 0) {
      if (health.problem !== undefined) return undefined;
      const asked = this.#ask(unknown).then((vectors) => {
        for (const [index, text] of unknown.entries()) {
          const vector = vectors?.[index];
          if (vector !== undefined) this.#queries.set(text, vector);
        }
      });
      if (!(await settlesWithin(asked, ms))) health.failed(`did not answer within ${ms / 1_000} s`);
    }
    const vectors = texts.flatMap((text) => this.#queries.get(text) ?? []);
    return vectors.length === texts.length ? vectors : undefined;
  }

  #load(): Promise<void> {
    this.#loading ??= this.#options.file.read().then((vectors) => {
      for (const [digest, vector] of vectors) this.#vectors.set(digest, vector);
    });
    return this.#loading;
  }

  async #fill(): Promise<void> {
    const { health } = this.#options;
    while (this.#missing.size > 0) {
      if (health.pauseMs > 0) await delay(health.pauseMs, undefined, { ref: false });
      const digests = [...this.#missing].slice(0, BATCH);
      const vectors = await this.#ask(digests.map((digest) => this.#texts.get(digest) ?? ""));
      if (vectors === undefined) continue;
      for (const [index, digest] of digests.entries()) {
        this.#vectors.set(digest, vectors[index] as Vector);
        this.#missing.delete(digest);
      }
      this.#hasUnsaved = true;
      if (performance.now() - this.#savedAt > SAVE_MS) await this.#save();
    }
    this.#filling = undefined;
    await this.#save();
  }

  /** Asks the endpoint, and notes whether it succeeded. */
  async #ask(texts: readonly string[]): Promise<Vector[] | undefined> {
    const { health } = this.#options;
    try {
      const vectors = await this.#embed(texts);
      this.#refuseOtherDimensions(vectors);
      health.succeeded();
      return vectors;
    } catch (error) {
      health.failed(messageOf(error));
      for (const resolve of this.#failureListeners) resolve();
      this.#failureListeners.clear();
      return undefined;
    }
  }

  async #embed(texts: readonly string[]): Promise<Vector[]> {
    const { endpoint } = this.#options;
    const signal = () => AbortSignal.timeout(REQUEST_MS);
    try {
      return await embed(endpoint, texts, signal());
    } catch (error) {
      const isLong = texts.some(({ length }) => length > SHORT_CHARS);
      if (!(error instanceof EndpointError) || !error.refusesRequest || !isLong) throw error;
      const short = texts.map((text) => text.slice(0, SHORT_CHARS));
      return embed(endpoint, short, signal());
    }
  }

  /** Drops all vectors if another model answers under the same name. @throws EndpointError in that case. */
  #refuseOtherDimensions([vector]: readonly Vector[]): void {
    const [known] = this.#vectors.values();
    if (known === undefined || vector === undefined || known.length === vector.length) return;
    this.#vectors.clear();
    this.#queries = new RecentlyUsed({ maxEntries: MAX_QUERIES });
    for (const digest of this.#texts.keys()) this.#missing.add(digest);
    this.#filling ??= this.#fill();
    throw new EndpointError(
      `answers with embeddings of ${vector.length} dimensions, and before with ${known.length}; all are computed anew`,
    );
  }

  /** Writes new vectors to disk, together with those that another process has written. */
  #save(): Promise<void> {
    const { file, onWarning } = this.#options;
    this.#saving = this.#saving.then(async () => {
      if (!this.#hasUnsaved) return;
      this.#hasUnsaved = false;
      this.#savedAt = performance.now();
      try {
        const used = [...this.#vectors].filter(([digest]) => this.#texts.has(digest));
        const theirs = await file.read();
        for (const digest of this.#texts.keys()) theirs.delete(digest);
        await file.write(new Map([...used, ...theirs]));
      } catch (error) {
        if (!this.#hasWarned) onWarning(`the vectors of tools cannot be kept on disk: ${messageOf(error)}`);
        this.#hasWarned = true;
      }
    });
    return this.#saving;
  }
}

/**
 * Embeds texts through `POST /embeddings` of an OpenAI-compatible API. Resolves with one vector for each text, in the same order. All
 * vectors have the same number of dimensions.
 *
 * @throws EndpointError
 */
async function embed(
  endpoint: ModelEndpoint,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Vector[]> {
  const answer = await askModel(endpoint, "embeddings", { input: texts, encoding_format: "float" }, signal);
  const data = isObject(answer) && Array.isArray(answer.data) ? (answer.data as unknown[]) : [];
  if (data.length !== texts.length)
    throw new EndpointError(`answers with ${data.length} embeddings of ${texts.length} texts`);
  const vectors: Vector[] = [];
  for (const [position, entry] of data.entries()) {
    const { index = position, embedding } = isObject(entry) ? entry : {};
    const vector = parseVector(embedding);
    if (vector === undefined) throw new EndpointError("answers with an embedding that is no list of numbers");
    if (typeof index !== "number" || texts[index] === undefined || vectors[index] !== undefined)
      throw new EndpointError("answers with embeddings that do not say which text they belong to");
    vectors[index] = vector;
  }
  const [first] = vectors;
  if (vectors.some(({ length }) => length !== first?.length))
    throw new EndpointError("answers with embeddings of different lengths");
  return vectors;
}

/** Must change when the embedded text of tools does. */
const FORMAT = 1;
/** Enough for the vectors of 40,000 tools with a small model, or of 10,000 with a large one. */
const MAX_VECTOR_BYTES = 64 * 1024 * 1024;
const MAX_HEAD_BYTES = 16 * 1024 * 1024;
const FLOAT_BYTES = 4;
const LINE_FEED = 10;

/** The model that computed the vectors. Vectors of different models cannot be compared. */
interface VectorOrigin {
  readonly url: string;
  readonly model: string;
}

/** Vectors by the digests of the tools' definitions. */
type Vectors = ReadonlyMap<string, Vector>;

/**
 * The file of vectors in a folder of ptc. Its first line is JSON with the model, the definitions and the digest of the rest. The
 * vectors follow as little-endian 32-bit floats.
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

  /** The vectors in the file; empty if the file is missing, damaged, or of another model. Never throws. */
  async read(): Promise<Map<string, Vector>> {
    try {
      const bytes = await readOwnFile(this.#folder, this.#name);
      return bytes === undefined ? new Map() : this.#parse(bytes);
    } catch {
      return new Map();
    }
  }

  /**
   * Replaces the file in one step. If the vectors exceed its size limit, only the first ones are written.
   *
   * @throws Error of the file system.
   */
  async write(vectors: Vectors): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writePrivateFile(join(this.#folder, this.#name), this.#render(vectors));
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
