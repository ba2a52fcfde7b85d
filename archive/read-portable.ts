import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, statSync } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import type * as z from "zod/mini";
import { canonicalJson } from "../protocol/canonical-json.ts";
import { ArchiveError } from "./archive-error.ts";
import { MAX_BLOB_BYTES, textDigest } from "./blobs.ts";
import { nestsTooDeep, parseJson } from "./parse-json.ts";
import { PORTABLE_VERSION, PortableHeader, PortableLine } from "./portable-format.ts";
import { parseRecord, RecordProblem } from "./run-contents.ts";
import { digestsIn, type RunRecord } from "./run-record.ts";

/** A file is read as if an enemy had made it: bounded in every direction, and believed only when its end has been seen. */
const PORTABLE_LIMITS = {
  /** Every character of a text may need an escape in its line. */
  maxLineBytes: 2 * MAX_BLOB_BYTES + 1_024,
  maxLines: 2_000_000,
  /** Unpacked. */
  maxBytes: 8 * 1024 * 1024 * 1024,
};

export type PortableItem =
  | { kind: "blob"; json: string }
  | { kind: "run"; record: RunRecord; digest: string };

/**
 * Reads a file and gives what is in it, each item checked against its digest. What it gave may be believed when it has
 * ended without throwing.
 *
 * @throws ArchiveError `bad-file`
 */
export async function* readPortable(file: string, limits = PORTABLE_LIMITS): AsyncGenerator<PortableItem> {
  const hash = createHash("sha256");
  const blobs = new Set<string>();
  const named = new Set<string>();
  const runIds = new Set<string>();
  let lines = 0;
  let ended = false;
  const refuse = (what: string) => badFile(file, lines === 0 ? what : `line ${lines} ${what}`);
  for await (const bytes of readLines(file, limits)) {
    lines++;
    if (lines > limits.maxLines) throw refuse(`is one more than the ${limits.maxLines} that a file may have`);
    if (ended) throw refuse("comes after the end");
    if (lines === 1) {
      checkHeader(file, bytes);
      hash.update(bytes);
      continue;
    }
    const line = parseLine(bytes);
    if (line === undefined) throw refuse("is not a line of an export");
    if ("blob" in line) {
      if (textDigest(line.json) !== line.blob) throw refuse("does not match its digest");
      if (nestsTooDeep(Buffer.from(line.json, "utf8"))) throw refuse("nests too deep");
      if (blobs.has(line.blob)) throw refuse("was there before");
      blobs.add(line.blob);
      yield { kind: "blob", json: line.json };
    } else if ("run" in line) {
      const record = checkRecord(line, refuse);
      if (runIds.has(record.run_id)) throw refuse(`is run ${record.run_id} for the second time`);
      runIds.add(record.run_id);
      for (const digest of digestsIn(record)) {
        if (!blobs.has(digest)) throw refuse(`names ${digest}, which is not in the file`);
        named.add(digest);
      }
      yield { kind: "run", record, digest: line.run };
    } else {
      const digest = `sha256:${hash.digest("hex")}`;
      if (line.digest !== digest || line.runs !== runIds.size || line.blobs !== blobs.size) {
        throw refuse("does not match what comes before it");
      }
      ended = true;
    }
    if (!ended) hash.update(bytes);
  }
  if (!ended) throw badFile(file, "has no end: it was cut off");
  if (named.size !== blobs.size) throw badFile(file, "holds values that belong to no run");
}

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

function parseLine(bytes: Buffer): z.infer<typeof PortableLine> | undefined {
  const text = bytes.toString("utf8");
  // Bytes that are not UTF-8 would be replaced, and what is checked would not be what was sent.
  return Buffer.byteLength(text) === bytes.length ? parseJson(PortableLine, text) : undefined;
}

function checkRecord(
  line: { run: string; record?: unknown },
  refuse: (what: string) => ArchiveError,
): RunRecord {
  try {
    const json = canonicalJson(line.record);
    if (textDigest(json) !== line.run) throw refuse("does not match its digest");
    return parseRecord(json);
  } catch (error) {
    if (error instanceof RecordProblem) throw refuse(`is no record: ${error.message}`);
    throw error;
  }
}

/** The lines of a file with their line feeds. */
async function* readLines(file: string, limits: typeof PORTABLE_LIMITS): AsyncGenerator<Buffer> {
  try {
    // A pipe or a device could be read for ever.
    if (!statSync(file).isFile()) throw badFile(file, "is not a regular file");
    const gunzip = createGunzip();
    const source = createReadStream(file);
    await once(source, "open");
    pipeline(source, gunzip, () => {});
    yield* splitLines(file, gunzip, limits);
  } catch (cause) {
    if (cause instanceof ArchiveError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    throw badFile(file, `cannot be read (${code ?? message})`, cause);
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
