import * as z from "zod/mini";
import { isAboutOneRun } from "../../archive-error.ts";
import type { KeptHead, Verification } from "../../archive-store.ts";
import {
  coverPlace,
  entryDigest,
  linkTo,
  NO_LINK,
  type PruningEntry,
  parsePruning,
  pruningDigest,
} from "../../chain.ts";
import { readBlob } from "../blobs.ts";
import { readChainEnd, toRanges } from "../file/chain-ends.ts";
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
  statement: z.nullable(z.string()),
});
const Check = z.object({ quick_check: z.string() });
const BlobRow = z.object({ id: z.int(), hex: z.string(), used: z.int() });

/**
 * Checks a whole archive: the file, every record and all that it names, that no record is missing from the chain but those that
 * the chain says were pruned, and that there is nothing else.
 *
 * @param heads newest links of earlier times, as they were kept elsewhere. What the chain says of pruned records counts only up
 * to the newest of them, because everybody can add an entry.
 * @throws ArchiveError when it cannot be read at all.
 */
export function verifyArchive(db: Database, heads: readonly KeptHead[] = []): Verification {
  return db.snapshot(() => checkAll(db, heads));
}

function checkAll(db: Database, heads: readonly KeptHead[]): Verification {
  const problems = db
    .all(Check, "PRAGMA quick_check(10)")
    .filter(({ quick_check }) => quick_check !== "ok")
    .map(({ quick_check }) => `the file is damaged: ${quick_check}`);
  const head = readChainEnd(db, "head");
  const start = readChainEnd(db, "start");
  let { id, link } = start;
  let runs = 0;
  /** Where the kept heads are in the chain. */
  const found = new Map<KeptHead, number>();
  const look = () => {
    // The place counts too: links alone would also follow each other where the beginning was cut off and all places moved up.
    for (const kept of heads)
      if (kept.link === link && (kept.id === undefined || kept.id === id)) found.set(kept, id);
  };
  look();
  if (start.id === 0 && start.link !== NO_LINK)
    problems.push("the chain does not begin with its first record: what came before was cut off");
  const tombstones: number[] = [];
  const prunings: (PruningEntry & { id: number })[] = [];
  for (const place of readPlaces(db, problems)) {
    if (place.id !== id + 1) problems.push(missing(id + 1, place.id - 1));
    else if (place.previous !== null && place.previous !== link) {
      problems.push(`record ${place.id} does not follow the one before it: one of the two was replaced`);
    }
    id = place.id;
    const pruning = place.statement === null ? undefined : parsePruning(place.statement);
    if (pruning !== undefined) prunings.push({ ...pruning, id });
    else if (place.statement !== null) problems.push(`entry ${id} is none that ptc has written`);
    const entry =
      place.entry ??
      (pruning === undefined
        ? entryDigest({
            recordDigest: place.record_digest ?? "",
            importedAt: place.imported_at,
            origin: place.origin,
          })
        : pruningDigest(pruning));
    link = linkTo(place.previous ?? link, entry);
    look();
    if (place.entry !== null) tombstones.push(id);
    else if (place.run_id !== null) {
      runs++;
      problems.push(...problemsOf(() => readRun(db, place.run_id ?? "")));
    }
  }
  if (id < head.id) problems.push(missing(id + 1, head.id));
  else if (link !== head.link)
    problems.push("the chain does not end in its newest record: it was replaced or added");
  const notes: string[] = [];
  for (const kept of heads) {
    if (found.has(kept)) continue;
    if (kept.id === undefined || kept.id >= start.id) problems.push(whyUnfound(kept, head.id));
    else {
      found.set(kept, kept.id);
      notes.push(`record ${kept.id} was pruned, and can be compared no more`);
    }
  }
  if (start.id > 0 && [...found.keys()].some(({ id }) => id === undefined))
    notes.push("a head without its place cannot tell whether pruned records are all that is gone before it");
  const newest = found.size === 0 ? undefined : Math.max(...found.values());
  problems.push(...unstated({ start: start.id, tombstones, prunings, newest }));
  const blobs = checkBlobs(db, problems);
  if (heads.length === 0) notes.push(UNPROVEN);
  else if (newest !== undefined && newest < head.id)
    notes.push(`what came after record ${newest} is proven by no head that was kept elsewhere`);
  return { runs, blobs, pruned: tombstones.length, problems, notes, head: `${head.id}:${head.link}` };
}

const UNPROVEN =
  "nothing in the archive can show whether its newest records were cut off, or all of it was written anew: compare with a head that was kept elsewhere (`ptc runs head`, --head)";

function whyUnfound({ id, link }: KeptHead, head: number): string {
  if (id === undefined)
    return `${link}, the head that was kept, is the link of no record: the chain was cut off, written anew, or pruned beyond it`;
  if (id > head) return missing(head + 1, id);
  return `record ${id} is another than the one whose head was kept: the chain was written anew`;
}

/** The places whose runs are gone, though nothing says, or proves, that ptc has pruned them. */
function unstated({
  start,
  tombstones,
  prunings,
  newest = Number.POSITIVE_INFINITY,
}: {
  start: number;
  tombstones: readonly number[];
  prunings: readonly (PruningEntry & { id: number })[];
  newest: number | undefined;
}): string[] {
  const sound = prunings.filter(({ id, through }) => through < id);
  const proven = sound.filter(({ id }) => id <= newest);
  const stated = Math.max(0, ...proven.map(({ through }) => through));
  const gone: [number, number][] = stated < start ? [[stated + 1, start]] : [];
  gone.push(...toRanges(tombstones.filter((place) => !coverPlace(proven, place))));
  return gone.map(([from, to]) => {
    const [what, it] =
      from === to ? [`record ${from} is gone`, "it"] : [`records ${from} to ${to} are gone`, "them"];
    const isStated = [from, to].every((place) => coverPlace(sound, place));
    return isStated
      ? `${what}, and the entry that says that ptc pruned ${it} is newer than record ${newest}: only a head that was kept elsewhere after it can tell`
      : `${what}, and nothing in the chain says that ptc pruned ${it}`;
  });
}

/** The entries of the chain, in order. An unreadable one is added to `problems` and left out. */
function* readPlaces(db: Database, problems: string[]): Generator<z.infer<typeof Place>> {
  const PAGE = 1_000;
  let after: SqlValue = -1;
  for (;;) {
    const page: ParsedRow<z.infer<typeof Place>>[] = db.allParsed(
      Place,
      `SELECT id, run_id, NULL AS entry, record_digest, imported_at, origin, previous, NULL AS statement FROM runs WHERE id > ?
       UNION ALL SELECT id, NULL, entry, NULL, NULL, NULL, NULL, NULL FROM tombstones WHERE id > ?
       UNION ALL SELECT id, NULL, NULL, NULL, NULL, NULL, previous, statement FROM prunings WHERE id > ?
       ORDER BY id LIMIT ?`,
      ...[after, after, after, PAGE],
    );
    for (const each of page) {
      if (each.ok) yield each.row;
      else problems.push(damagedRow(each.raw, each.columns).message);
    }
    const last = page.at(-1);
    if (last === undefined) return;
    const reached = (last.ok ? last.row.id : last.raw.id) ?? null;
    // Where a damaged file gives rows in another order than their ids', there would be no end.
    if (!(Number(reached) > Number(after))) {
      problems.push("the file is damaged: its rows are not in the order of their ids");
      return;
    }
    after = reached;
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
