/** Hands runs to PostgreSQL as arguments of its functions `ptc_append` and `ptc_put` (schema.ts). */
import * as z from "zod/mini";
import { canonicalJson, textDigest } from "../../protocol/canonical-json.ts";
import { ArchiveError } from "../archive-error.ts";
import type { RunOrigin } from "../archive-store.ts";
import { checkReadable, checkSize } from "../archived-json.ts";
import { entryDigest } from "../chain.ts";
import { digestsIn, type RunRecord } from "../run-record.ts";
import { type RunSummary, summarizeTools } from "../run-summary.ts";
import { digestBytes, encodeText } from "../stored-text.ts";
import { type Statements, toStored } from "./database.ts";
import { monthOf } from "./schema.ts";

/** A text in its stored form. */
interface Value {
  codec: number;
  size: number;
  content: Uint8Array;
}

/** Texts by their digests, each once. Texts without a value are already stored. */
export type Values = Map<string, Value | undefined>;

/** Adds a text. Returns its digest. @throws ArchiveError `unkeepable` for a text that readers would reject. */
export function putText(values: Values, json: string): string {
  const bytes = Buffer.from(json, "utf8");
  checkSize(bytes.length);
  const digest = textDigest(bytes);
  if (values.has(digest)) return digest;
  checkReadable(json);
  values.set(digest, { size: bytes.length, ...encodeText(bytes) });
  return digest;
}

/** The number of bytes to send. */
export function bytesOf(values: Values): number {
  let bytes = 0;
  for (const value of values.values()) bytes += value?.content.length ?? 0;
  return bytes;
}

/** The most bytes of values in one statement. */
export const MAX_SENT_BYTES = 16 * 1024 * 1024;

/** Divides texts into groups that fit in one statement each. */
export function* inPieces(values: Values): Generator<Values> {
  let piece: Values = new Map();
  let bytes = 0;
  for (const [digest, value] of values) {
    if (value === undefined) continue;
    if (piece.size > 0 && bytes + value.content.length > MAX_SENT_BYTES) {
      yield piece;
      piece = new Map();
      bytes = 0;
    }
    piece.set(digest, value);
    bytes += value.content.length;
  }
  if (piece.size > 0) yield piece;
}

/** A run that is ready to be appended. */
export interface PreparedRun {
  runId: string;
  recordDigest: string;
  /** The month of its partition. */
  month: number;
  values: Values;
  row: Readonly<Record<string, unknown>>;
}

/** @param values has everything that the record names, with `undefined` for texts that are already stored. */
export function prepareRun(
  record: RunRecord,
  summary: RunSummary,
  values: Values,
  imported?: RunOrigin,
): PreparedRun {
  const recordDigest = putText(values, canonicalJson(record));
  for (const digest of digestsIn(record)) if (!values.has(digest)) values.set(digest, undefined);
  const [importedAt, origin] = [imported?.importedAt ?? null, imported?.origin ?? null];
  const columns = Object.entries(summary).map(([name, value]) => [name, stored(value)]);
  return {
    runId: record.run_id,
    recordDigest,
    month: monthOf(importedAt ?? record.started_at),
    values,
    row: {
      ...(Object.fromEntries(columns) as Record<string, unknown>),
      record_digest: recordDigest,
      imported_at: importedAt,
      origin: stored(origin),
      entry: entryDigest({ recordDigest, importedAt, origin }),
      tools: summarizeTools(record.calls).map(({ tool, server, ...counts }) => ({
        name: toStored(tool),
        server: toStored(server),
        ...counts,
      })),
    },
  };
}

function stored<T>(value: T): T | string {
  return typeof value === "string" ? toStored(value) : value;
}

const Appended = z.object({ found_digest: z.string(), was_there: z.boolean() });

/**
 * Appends runs of one month in one transaction, in their order, completely or not at all. Returns for each run the digest of the
 * record that now has its id, and whether that record was there before.
 */
export async function appendRuns(
  db: Statements,
  runs: readonly PreparedRun[],
): Promise<z.infer<typeof Appended>[]> {
  const values: Values = new Map();
  for (const run of runs)
    for (const [digest, value] of run.values) values.set(digest, values.get(digest) ?? value);
  const places = new Map([...values.keys()].map((digest, index) => [digest, index + 1]));
  const rows = runs.map((run) => ({
    ...run.row,
    blobs: [...run.values.keys()].map((digest) => places.get(digest)),
  }));
  const [first] = runs;
  if (first === undefined) return [];
  return db.all(
    Appended,
    "SELECT found_digest, was_there FROM ptc_append($1, $2, $3, $4, $5, $6, $7)",
    ...[first.month, ...packed(values), JSON.stringify(rows)],
  );
}

/** Holds texts for a run or an import that has not ended, so that nobody removes them. */
export async function holdValues(
  db: Statements,
  values: Values,
  { holder, month, nowMs }: { holder: string; month: number; nowMs: number },
): Promise<void> {
  if (values.size === 0) return;
  await db.run(
    `INSERT INTO held_blobs (holder, blob, held_at)
     SELECT DISTINCT $7, kept, $8::bigint FROM unnest(ptc_put($1, $2, $3, $4, $5, $6)) AS kept ON CONFLICT DO NOTHING`,
    ...[month, ...packed(values), holder, nowMs],
  );
}

/** Renders texts as the arguments of `ptc_put`. A length of -1 stands for a text that is not sent. */
function packed(values: Values): [Buffer, number[], number[], number[], Buffer] {
  const all = [...values];
  return [
    digestsOf(all.map(([digest]) => digest)),
    all.map(([, value]) => value?.codec ?? 0),
    all.map(([, value]) => value?.size ?? 0),
    all.map(([, value]) => value?.content.length ?? -1),
    Buffer.concat(all.map(([, value]) => value?.content ?? Buffer.alloc(0))),
  ];
}

function digestsOf(digests: readonly string[]): Buffer {
  return Buffer.concat(digests.map(digestBytes));
}

/** The error for a run that was not archived because another run has its id. */
export function idIsTaken(runId: string): ArchiveError {
  return new ArchiveError("unkeepable", `run ${runId} was not archived: there is another run with its id`);
}
