/**
 * Checks that a store still holds what was archived. A store yields raw rows (`StoredRows`). This file decides whether to trust
 * them. It checks each value against its digest, each record against its place in the chain (chain.ts), and the columns of a run
 * against its record. It checks the chain against its entries about pruned runs, and against heads that were kept elsewhere.
 */
import { visibleLine } from "../base/visible-text.ts";
import { ArchiveError, isAboutOneRun } from "./archive-error.ts";
import type { KeptHead, Verification } from "./archive-store.ts";
import {
  type ArchivedRun,
  namingRun,
  parseRecord,
  type ReadText,
  RecordProblem,
  type RunContents,
  readContents,
  withValues,
} from "./archived-run.ts";
import {
  type ChainEnd,
  type ChainEntry,
  coverPlace,
  entryDigest,
  linkTo,
  NO_LINK,
  type Pruning,
  parsePruning,
  pruningDigest,
  toRanges,
} from "./chain.ts";
import type { DamagedRun } from "./listed-run.ts";
import { digestsIn, type RunRecord } from "./run-record.ts";
import { summarizeRun, summarizeTools, type ToolSummary } from "./run-summary.ts";

/**
 * The rows of a store, all of one state of the archive, whatever others write meanwhile. Nothing in them is trusted. Methods
 * reject with an `ArchiveError` when the archive cannot be read at all.
 */
export interface StoredRows {
  /** Names the archive in messages. */
  readonly place: string;
  /** One line for each fault of the storage itself, such as a damaged file. */
  faults(): Promise<readonly string[]>;
  /** Rejects with `corrupt` when there is none. */
  chainEnd(name: "start" | "head"): Promise<ChainEnd>;
  /** Every entry of the chain, in the order of their places. */
  entries(): AsyncIterable<StoredEntry>;
  /** The link that the entry at a place follows. `undefined` if there is no entry, or only the one that a pruned run left. */
  previousAt(place: number): Promise<string | undefined>;
  /** `undefined` for an unknown run id. */
  run(runId: string): Promise<StoredRun | { damaged: DamagedRun } | undefined>;
  /** Reads a text and compares it with its digest. */
  readText: ReadText;
  /** Every text that the store holds. */
  texts(): AsyncIterable<StoredText>;
}

export type StoredEntry =
  | { kind: "run"; place: number; previous: string; runId: string; entry: ChainEntry }
  /** The entry that a pruned run left. */
  | { kind: "pruned"; place: number; entry: string }
  /** An entry that says which runs were pruned. */
  | { kind: "pruning"; place: number; previous: string; statement: string }
  /** A row that cannot be read. */
  | { kind: "damaged"; message: string };

export interface StoredRun extends ChainEntry {
  place: number;
  previous: string;
  link: string;
  /** The columns for finding the run, in the form of `RunSummary`. */
  columns: Readonly<Record<string, unknown>>;
  /** The counts of its calls by tool, with `undefined` for counts that cannot be read. */
  tools: readonly (StoredTool | undefined)[];
  /** The digests of all texts that are kept because of this run. */
  references: readonly string[];
}

export interface StoredTool extends ToolSummary {
  started_at: number;
  isReplay: boolean;
}

export interface StoredText {
  digest: string;
  /** The reason to keep it: a run, an unfinished run, or nothing. */
  keptFor: "run" | "unfinished" | "nothing";
}

/**
 * Reads one run and checks all of it: every value against its digest, the record against its own digest, that digest against
 * its place in the chain, and the columns of the run against the record.
 *
 * @param readLater reads values later, when `rows` are gone.
 * @throws ArchiveError `tampered`, naming what differs from what was archived, `newer` for a record in a form that only a newer
 *   ptc reads, and `missing` for an unknown run id.
 */
export async function readRun(
  rows: StoredRows,
  runId: string,
  readLater: ReadText = (digest) => rows.readText(digest),
): Promise<ArchivedRun> {
  const stored = await rows.run(runId);
  if (stored === undefined)
    throw new ArchiveError("missing", `run ${runId} is not in the archive ${rows.place}`);
  if ("damaged" in stored) throw new ArchiveError("tampered", stored.damaged.message);
  const { recordDigest, importedAt, origin } = stored;
  const checked = await namingRun(runId, () => checkRun(rows, stored));
  return withValues(
    { ...checked.contents, record: checked.record, recordDigest, importedAt, origin },
    readLater,
  );
}

async function checkRun(
  rows: StoredRows,
  stored: StoredRun,
): Promise<{ record: RunRecord; contents: RunContents }> {
  await checkLink(rows, stored);
  const text = await rows.readText(stored.recordDigest);
  if (!text.ok) throw new RecordProblem(`the record ${text.problem}`);
  const record = parseRecord(text.json);
  const contents = await readContents(record, rows.readText);
  for (const [column, value] of Object.entries(summarizeRun(record, contents))) {
    if (stored.columns[column] !== value)
      throw new RecordProblem(`the column ${column} differs from the record`);
  }
  checkTools(stored, record);
  checkReferences(stored, record);
  return { record, contents };
}

async function checkLink(rows: StoredRows, { place, previous, link, ...entry }: StoredRun): Promise<void> {
  if (linkTo(previous, entryDigest(entry)) !== link)
    throw new RecordProblem("the digest of the record is not the one in the chain");
  const head = await rows.chainEnd("head");
  const follower = place === head.id ? head.link : await rows.previousAt(place + 1);
  if (follower !== undefined && follower !== link)
    throw new RecordProblem("the chain does not continue from its record");
}

function checkTools({ tools }: StoredRun, record: RunRecord): void {
  const key = ({ tool, server, calls, failed_calls, duration_ms, result_bytes, ...run }: StoredTool) =>
    JSON.stringify([
      tool,
      server,
      calls,
      failed_calls,
      duration_ms,
      result_bytes,
      run.started_at,
      run.isReplay,
    ]);
  const found = new Set(tools.map((each) => (each === undefined ? "" : key(each))));
  const ofRun = { started_at: record.started_at, isReplay: record.source === "replay" };
  const expected = summarizeTools(record.calls).map((each) => key({ ...each, ...ofRun }));
  if (found.size !== expected.length || expected.some((each) => !found.has(each)))
    throw new RecordProblem("the counts of its calls differ from the record");
}

/** Checks the references of the run to texts. If one is missing, pruning another run would delete its text. */
function checkReferences({ recordDigest, references }: StoredRun, record: RunRecord): void {
  const expected = new Set([recordDigest, ...digestsIn(record)]);
  if (references.length !== expected.size || references.some((digest) => !expected.has(digest)))
    throw new RecordProblem("the list of its references differs from the record");
}

const MAX_ID_CHARS = 64;

/** Describes a run whose row ptc did not write. @param columns the names of the wrong columns. */
export function damagedRun(id: unknown, columns: readonly string[]): DamagedRun {
  const runId = visibleLine(String(id)).slice(0, MAX_ID_CHARS);
  const message = `run ${runId} is not as it was archived: its row holds a wrong ${columns.join(" and ")}; do not trust it`;
  return { runId, message };
}

/**
 * Checks a whole archive: every record and everything that it names. Checks that the chain lacks only records that it says were
 * pruned, and that the archive contains nothing else. One damaged run hides no other.
 *
 * @param heads newest links from earlier times that were kept elsewhere. Entries about pruned records count only up to the
 *   newest of these heads, because anybody can add an entry.
 * @throws ArchiveError when the archive cannot be read at all.
 */
export async function verifyArchive(
  rows: StoredRows,
  heads: readonly KeptHead[] = [],
): Promise<Verification> {
  const problems = [...(await rows.faults())];
  const notes: string[] = [];
  const head = await rows.chainEnd("head");
  const start = await rows.chainEnd("start");
  if (start.id === 0 && start.link !== NO_LINK)
    problems.push("the chain does not begin with its first record: what came before was cut off");
  const walk = new ChainWalk(start, heads, problems);
  let runs = 0;
  for await (const stored of rows.entries()) {
    if (stored.kind === "damaged") {
      problems.push(stored.message);
      continue;
    }
    walk.take(stored);
    if (stored.kind !== "run") continue;
    runs++;
    await readRun(rows, stored.runId).catch((error: unknown) => {
      if (!isAboutOneRun(error)) throw error;
      (error.code === "newer" ? notes : problems).push(error.message);
    });
  }
  walk.end(head);
  notes.push(...walk.compareHeads(head));
  const { tombstones, prunings, newest } = walk;
  problems.push(...unstated(start.id, tombstones, prunings, newest));
  const blobs = await checkTexts(rows, problems);
  if (heads.length === 0) notes.push(UNPROVEN);
  else if (newest !== undefined && newest < head.id)
    notes.push(`no head that was kept elsewhere proves what came after record ${newest}`);
  return { runs, blobs, pruned: tombstones.length, problems, notes, head: `${head.id}:${head.link}` };
}

/** Follows the chain from its start, entry by entry. */
class ChainWalk {
  /** The places of pruned runs. */
  readonly tombstones: number[] = [];
  readonly prunings: Pruning[] = [];
  readonly #start: ChainEnd;
  readonly #heads: readonly KeptHead[];
  readonly #problems: string[];
  /** The places of the kept heads in the chain. */
  readonly #found = new Map<KeptHead, number>();
  #at: ChainEnd;

  constructor(start: ChainEnd, heads: readonly KeptHead[], problems: string[]) {
    this.#start = start;
    this.#heads = heads;
    this.#problems = problems;
    this.#at = start;
    this.#look();
  }

  take(stored: Exclude<StoredEntry, { kind: "damaged" }>): void {
    const { place } = stored;
    const previous = stored.kind === "pruned" ? this.#at.link : stored.previous;
    if (place !== this.#at.id + 1) this.#problems.push(missing(this.#at.id + 1, place - 1));
    else if (previous !== this.#at.link)
      this.#problems.push(`record ${place} does not follow the one before it: one of the two was replaced`);
    this.#at = { id: place, link: linkTo(previous, this.#entryOf(stored)) };
    this.#look();
  }

  end(head: ChainEnd): void {
    if (this.#at.id < head.id) this.#problems.push(missing(this.#at.id + 1, head.id));
    else if (this.#at.link !== head.link)
      this.#problems.push("the chain does not end in its newest record: it was replaced or added");
  }

  /** Compares the chain with the heads that were kept, and returns what a reader should know about them. */
  compareHeads(head: ChainEnd): string[] {
    const notes: string[] = [];
    for (const kept of this.#heads) {
      if (this.#found.has(kept)) continue;
      if (kept.id === undefined || kept.id >= this.#start.id) this.#problems.push(whyUnfound(kept, head.id));
      else {
        this.#found.set(kept, kept.id);
        notes.push(`record ${kept.id} was pruned, and can no longer be compared`);
      }
    }
    if (this.#start.id > 0 && [...this.#found.keys()].some(({ id }) => id === undefined))
      notes.push("a head without its place cannot show whether only pruned records are missing before it");
    return notes;
  }

  /** The place of the newest head that was found, or `undefined` if none was found. */
  get newest(): number | undefined {
    return this.#found.size === 0 ? undefined : Math.max(...this.#found.values());
  }

  #entryOf(stored: Exclude<StoredEntry, { kind: "damaged" }>): string {
    if (stored.kind === "run") return entryDigest(stored.entry);
    if (stored.kind === "pruned") {
      this.tombstones.push(stored.place);
      return stored.entry;
    }
    const pruning = parsePruning(stored.statement);
    if (pruning !== undefined) {
      this.prunings.push({ ...pruning, id: stored.place });
      return pruningDigest(pruning);
    }
    this.#problems.push(`entry ${stored.place} was not written by ptc`);
    return entryDigest({ recordDigest: "", importedAt: null, origin: null });
  }

  #look(): void {
    // The place counts too: links alone would also match if somebody cut off the beginning and moved all places up.
    for (const kept of this.#heads)
      if (kept.link === this.#at.link && (kept.id === undefined || kept.id === this.#at.id))
        this.#found.set(kept, this.#at.id);
  }
}

const UNPROVEN =
  "nothing in the archive can show whether its newest records were cut off, or all of it was written anew: compare with a head that was kept elsewhere (`ptc runs head`, --head)";

function whyUnfound({ id, link }: KeptHead, head: number): string {
  if (id === undefined)
    return `${link}, the head that was kept, is the link of no record: the chain was cut off, written anew, or pruned beyond it`;
  if (id > head) return missing(head + 1, id);
  return `record ${id} is not the one whose head was kept: the chain was written anew`;
}

/** Describes the places whose runs are gone although nothing proves that ptc has pruned them. */
function unstated(
  start: number,
  tombstones: readonly number[],
  prunings: readonly Pruning[],
  newest = Number.POSITIVE_INFINITY,
): string[] {
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
      ? `${what}, and the entry that says that ptc pruned ${it} is newer than record ${newest}: only a newer head that was kept elsewhere can prove that`
      : `${what}, and nothing in the chain says that ptc pruned ${it}`;
  });
}

/** Checks the texts that no run uses, each of which must belong to an unfinished run. The others were checked with their runs. */
async function checkTexts(rows: StoredRows, problems: string[]): Promise<number> {
  let count = 0;
  for await (const { digest, keptFor } of rows.texts()) {
    count++;
    if (keptFor === "nothing") problems.push(`the blob ${digest} belongs to no run`);
    if (keptFor !== "unfinished") continue;
    const text = await rows.readText(digest);
    if (!text.ok) problems.push(`the blob ${digest} ${text.problem}`);
  }
  return count;
}

function missing(from: number, to: number): string {
  return from === to ? `record ${from} is missing` : `records ${from} to ${to} are missing`;
}
