import * as z from "zod/mini";
import { isAboutOneRun } from "../../archive-error.ts";
import type { Verification } from "../../archive-store.ts";
import { entryDigest, linkTo } from "../../chain.ts";
import { readBlob } from "../blobs.ts";
import { readChainEnd } from "../chain-ends.ts";
import type { Database, ParsedRow, SqlValue } from "../file/database.ts";
import { damagedRow } from "./damaged-row.ts";
import { readRun } from "./read-run.ts";

const Place = z.object({
  id: z.int(),
  run_id: z.nullable(z.string()),
  entry: z.nullable(z.string()),
  record_digest: z.nullable(z.string()),
  imported_at: z.nullable(z.int()),
  origin: z.nullable(z.string()),
  previous: z.nullable(z.string()),
});
const Check = z.object({ quick_check: z.string() });
const BlobRow = z.object({ id: z.int(), hex: z.string(), used: z.int() });

/**
 * Checks a whole archive: the file, every record and all that it names, that no record is missing from the chain, and that
 * there is nothing else.
 *
 * @throws ArchiveError when it cannot be read at all.
 */
export function verifyArchive(db: Database): Verification {
  return db.snapshot(() => checkAll(db));
}

function checkAll(db: Database): Verification {
  const problems = db
    .all(Check, "PRAGMA quick_check(10)")
    .filter(({ quick_check }) => quick_check !== "ok")
    .map(({ quick_check }) => `the file is damaged: ${quick_check}`);
  const head = readChainEnd(db, "head");
  let { id, link } = readChainEnd(db, "start");
  let runs = 0;
  let pruned = 0;
  for (const place of readPlaces(db, problems)) {
    if (place.id !== id + 1) problems.push(missing(id + 1, place.id - 1));
    else if (place.previous !== null && place.previous !== link) {
      problems.push(`record ${place.id} does not follow the one before it: one of the two was replaced`);
    }
    id = place.id;
    const entry =
      place.entry ??
      entryDigest({
        recordDigest: place.record_digest ?? "",
        importedAt: place.imported_at,
        origin: place.origin,
      });
    link = linkTo(place.previous ?? link, entry);
    if (place.run_id === null) pruned++;
    else {
      runs++;
      problems.push(...problemsOf(() => readRun(db, place.run_id ?? "")));
    }
  }
  if (id < head.id) problems.push(missing(id + 1, head.id));
  else if (link !== head.link)
    problems.push("the chain does not end in its newest record: it was replaced or added");
  const blobs = checkBlobs(db, problems);
  return { runs, blobs, pruned, problems, head: head.link };
}

/** The entries of the chain, in order. An unreadable one is added to `problems` and left out. */
function* readPlaces(db: Database, problems: string[]): Generator<z.infer<typeof Place>> {
  const PAGE = 1_000;
  let after: SqlValue = -1;
  for (;;) {
    const page: ParsedRow<z.infer<typeof Place>>[] = db.allParsed(
      Place,
      `SELECT id, run_id, NULL AS entry, record_digest, imported_at, origin, previous FROM runs WHERE id > ?
       UNION ALL SELECT id, NULL, entry, NULL, NULL, NULL, NULL FROM tombstones WHERE id > ? ORDER BY id LIMIT ?`,
      ...[after, after, PAGE],
    );
    for (const each of page) {
      if (each.ok) yield each.row;
      else problems.push(damagedRow(each.raw, each.columns).message);
    }
    const last = page.at(-1);
    if (last === undefined) return;
    after = (last.ok ? last.row.id : last.raw.id) ?? null;
  }
}

/** Checks the blobs that no run uses; the others were checked with their runs. Each must be held for an unfinished run. */
function checkBlobs(db: Database, problems: string[]): number {
  const rows = db.all(
    BlobRow,
    `SELECT id, lower(hex(digest)) AS hex,
       EXISTS (SELECT 1 FROM run_blobs WHERE blob = blobs.id) + 2 * EXISTS (SELECT 1 FROM held_blobs WHERE blob = blobs.id) AS used
     FROM blobs`,
  );
  for (const { hex, used } of rows) {
    if (used === 0) problems.push(`the blob sha256:${hex} belongs to no run`);
    else if (used === 2) {
      const text = readBlob(db, `sha256:${hex}`);
      if (!text.ok) problems.push(`the blob sha256:${hex} ${text.problem}`);
    }
  }
  return rows.length;
}

function problemsOf(work: () => unknown): string[] {
  try {
    work();
    return [];
  } catch (error) {
    if (isAboutOneRun(error)) return [error.message];
    throw error;
  }
}

function missing(from: number, to: number): string {
  return from === to ? `record ${from} is missing` : `records ${from} to ${to} are missing`;
}
