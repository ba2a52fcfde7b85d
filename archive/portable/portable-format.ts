import { createHash } from "node:crypto";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import * as z from "zod/mini";
import { ForeignJsonError, parseForeignJson, writeJson } from "../../base/json.ts";
import { canonicalJson, textDigest } from "../../protocol/canonical-json.ts";
import { Digest } from "../../protocol/digest.ts";
import { ArchiveError } from "../archive-error.ts";
import { MAX_BLOB_BYTES, parseJson } from "../archived-json.ts";
import { parseRecord, RecordProblem } from "../archived-run.ts";
import { digestsIn, RunId, type RunRecord, WRITTEN } from "../run-record.ts";

/** Bounds for reading a file, which is untrusted until its end has been checked. */
const PORTABLE_LIMITS = {
  /** A line may be twice as long as its text, when every character needs an escape. */
  maxLineBytes: 2 * MAX_BLOB_BYTES + 1_024,
  maxLines: 2_000_000,
  /** The size of the unpacked file. */
  maxBytes: 8 * 1024 * 1024 * 1024,
  maxLineValues: 4_000_000,
  /** The most refused runs. A file with more is not treated as an export. */
  maxRefused: 1_000,
};

/** Records nest only a few levels, and a blob is a string in its line. */
const MAX_LINE_DEPTH = 1_000;

/** An untrusted file of runs. */
export interface PortableSource {
  /** Its name in messages. */
  name: string;
  /** The origin that is stored with its runs. */
  origin: string;
  /** Opens it at its beginning. An import reads it twice. */
  open(): Promise<Readable>;
}

export type PortableItem =
  | { kind: "blob"; json: string }
  | { kind: "run"; record: RunRecord; digest: string }
  /** A run with a record that ptc would not write. */
  | { kind: "refused"; run: RefusedRun };

export interface RefusedRun {
  /** The id in the record, or `undefined` if that is not a run id. */
  runId: string | undefined;
  /** One line that names the run, and says what is wrong. */
  message: string;
}

/**
 * Reads a file and yields its items, each checked against its digest. Callers may trust the items only after reading has
 * ended without an error. Also yields blobs that only refused runs name. The caller must check the content of blobs.
 *
 * @throws ArchiveError `bad-file`
 */
export async function* readPortable(
  source: PortableSource,
  limits = PORTABLE_LIMITS,
): AsyncGenerator<PortableItem> {
  const { name: file } = source;
  const hash = createHash("sha256");
  const blobs = new Set<string>();
  const named = new Set<string>();
  const runIds = new Set<string>();
  let lines = 0;
  let refused = 0;
  let ended = false;
  const refuse = (what: string) => badFile(file, lines === 0 ? what : `line ${lines} ${what}`);
  for await (const bytes of readLines(source, limits)) {
    lines++;
    if (lines > limits.maxLines) throw refuse(`is one more than the ${limits.maxLines} that a file may have`);
    if (ended) throw refuse("comes after the end");
    if (lines === 1) {
      checkHeader(file, bytes);
      hash.update(bytes);
      continue;
    }
    const line = parseLine(bytes, limits);
    if (line === undefined) throw refuse("is not a line of an export");
    if ("blob" in line) {
      if (textDigest(line.json) !== line.blob) throw refuse("does not match its digest");
      if (blobs.has(line.blob)) throw refuse("was there before");
      blobs.add(line.blob);
      yield { kind: "blob", json: line.json };
    } else if ("run" in line) {
      const record = checkRecord(line, refuse);
      if (record instanceof RecordProblem) {
        if (++refused > limits.maxRefused) {
          throw refuse(`is one more than the ${limits.maxRefused} runs that ptc did not archive`);
        }
        yield { kind: "refused", run: describeRefused(line.record, lines, record) };
        hash.update(bytes);
        continue;
      }
      if (runIds.has(record.run_id)) throw refuse(`is run ${record.run_id} for the second time`);
      runIds.add(record.run_id);
      for (const digest of digestsIn(record)) {
        if (!blobs.has(digest)) throw refuse(`names ${digest}, which is not in the file`);
        named.add(digest);
      }
      yield { kind: "run", record, digest: line.run };
    } else {
      const digest = `sha256:${hash.digest("hex")}`;
      if (line.digest !== digest || line.runs !== runIds.size + refused || line.blobs !== blobs.size) {
        throw refuse("does not match what comes before it");
      }
      ended = true;
    }
    if (!ended) hash.update(bytes);
  }
  if (!ended) throw badFile(file, "has no end: it was cut off");
  if (refused === 0 && named.size !== blobs.size) throw badFile(file, "holds values that belong to no run");
}

/** The error that ends reading a file. */
export function badFile(file: string, what: string, cause?: unknown): ArchiveError {
  const message = `${file} ${what}: nothing was imported; it is not a whole, unchanged export of runs`;
  return new ArchiveError("bad-file", message, cause);
}

function checkHeader(file: string, bytes: Buffer): void {
  const header = bytes.length < 1_000 ? parseJson(PortableHeader, bytes.toString("utf8")) : undefined;
  if (header === undefined) throw badFile(file, "does not begin like one");
  if (header.version === PORTABLE_VERSION) return;
  const message = `${file} has version ${header.version}, and this ptc reads ${PORTABLE_VERSION}: nothing was imported; use a newer ptc`;
  throw new ArchiveError("bad-file", message);
}

function parseLine(
  bytes: Buffer,
  { maxLineBytes, maxLineValues }: typeof PORTABLE_LIMITS,
): z.infer<typeof PortableLine> | undefined {
  try {
    const limits = { maxBytes: maxLineBytes, maxDepth: MAX_LINE_DEPTH, maxValues: maxLineValues };
    return PortableLine.safeParse(parseForeignJson(bytes, limits)).data;
  } catch (error) {
    if (error instanceof ForeignJsonError) return undefined;
    throw error;
  }
}

/** The record of a line, or why it is refused. A line that was changed after its export is an error instead. */
function checkRecord(
  line: { run: string; record?: unknown },
  refuse: (what: string) => ArchiveError,
): RunRecord | RecordProblem {
  const json = canonicalJson(line.record ?? null);
  if (textDigest(json) !== line.run) throw refuse("does not match its digest");
  try {
    return parseRecord(json, WRITTEN);
  } catch (error) {
    if (error instanceof RecordProblem) return error;
    throw error;
  }
}

function describeRefused(record: unknown, line: number, { message }: RecordProblem): RefusedRun {
  const { run_id } = Object(record) as { run_id?: unknown };
  const runId = RunId.safeParse(run_id).data;
  const name = runId === undefined ? `the run on line ${line}` : `run ${runId}`;
  return { runId, message: refusal(name, message) };
}

/** The message for a run that was not imported. */
export function refusal(name: string, problem: string): string {
  return `${name} was not imported: it is not one that ptc archived (${problem})`;
}

/** The lines of a file with their line feeds. */
async function* readLines(
  { name, open }: PortableSource,
  limits: typeof PORTABLE_LIMITS,
): AsyncGenerator<Buffer> {
  try {
    const gunzip = createGunzip();
    pipeline(await open(), gunzip, () => {});
    yield* splitLines(name, gunzip, limits);
  } catch (cause) {
    if (cause instanceof ArchiveError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    throw badFile(name, `cannot be read (${code ?? message})`, cause);
  }
}

async function* splitLines(
  file: string,
  chunks: AsyncIterable<Buffer>,
  { maxBytes, maxLineBytes }: typeof PORTABLE_LIMITS,
): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let total = 0;
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > maxBytes) throw badFile(file, `unpacks to more than ${maxBytes} bytes`);
    let rest = chunk;
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      yield Buffer.concat([...pending, rest.subarray(0, end + 1)]);
      pending = [];
      pendingBytes = 0;
      rest = rest.subarray(end + 1);
    }
    pending.push(rest);
    pendingBytes += rest.length;
    if (pendingBytes > maxLineBytes) throw badFile(file, `has a line of more than ${maxLineBytes} bytes`);
  }
  if (pendingBytes > 0) throw badFile(file, "ends within a line: it was cut off");
}

/**
 * Runs in one file: gzip over lines of JSON.
 *
 *     {"format":"ptc-archive","version":1}
 *     {"blob":"sha256:...","json":"..."}              a JSON text by its digest, before the first run that names it
 *     {"run":"sha256:...","record":{...}}             a `RunRecord`, by the digest of its canonical JSON
 *     {"runs":1,"blobs":7,"digest":"sha256:..."}      the end: counts, and the digest of all lines before it
 */
const FORMAT = "ptc-archive";
const PORTABLE_VERSION = 1;

/** The first line. */
const PortableHeader = z.object({ format: z.literal(FORMAT), version: z.int() });
const count = z.int().check(z.gte(0));
/** Any other line. */
const PortableLine = z.union([
  z.strictObject({ blob: Digest, json: z.string() }),
  z.strictObject({ run: Digest, record: z.unknown() }),
  z.strictObject({ runs: count, blobs: count, digest: Digest }),
]);

/** Renders the lines of one file, with their line feeds, in the order of the calls. */
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
    const line = `${writeJson(value)}\n`;
    this.#hash.update(line);
    return line;
  }
}
