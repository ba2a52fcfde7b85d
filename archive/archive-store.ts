import type { ArchivedRun } from "./archived-run.ts";
import type { CallToArchive, RunToArchive } from "./build-record.ts";
import type { DamagedRun, ListedRun, PageFilter, RunFilter, RunPage } from "./listed-run.ts";
import type { RunRecord } from "./run-record.ts";
import type { FoundRuns } from "./run-reference.ts";
import type { Stats, Timings } from "./run-stats.ts";

/**
 * Archived runs, independent of where they are stored. Runs are a chain of records (`chain`), each of which names everything
 * else by its digest (`run-record`).
 *
 * Every method that returns a promise may reject with an `ArchiveError`. Its code says what is wrong: with the archive
 * (`unavailable`, `foreign`, `newer`, `unsafe`, `unwritable`, `busy`, `full`, `corrupt`, `failed`), or with the request, as
 * documented below. Methods that read or delete reject with `missing` while nothing was ever archived; the first run that is
 * archived creates the archive.
 */
export interface ArchiveStore extends RunArchiver {
  /** Whether anything was ever archived here. Rejects if the archive exists and cannot be read. */
  exists(): Promise<boolean>;
  /** Checks whether runs could be archived now, and rejects with the reason if not. Archives and creates nothing. */
  tryWriting(): Promise<void>;
  /** A page of the matching runs, newest first, and those among them that cannot be listed. */
  list(filter: PageFilter): Promise<RunPage>;
  /** The runs that were archived after the one at a position, in that order, and at most `limit` of them. 0 is before the first. */
  following(position: number, limit: number): Promise<FollowingRuns>;
  /**
   * Finds runs by input digest (`sha256:<hex>`), by run id, or by a prefix of either of at least four characters. Rejects
   * with `bad-reference` for anything else, and with `tampered` when none of the runs found can be listed.
   */
  find(reference: string): Promise<FoundRuns>;
  /**
   * The ids of all runs that a reference means, including damaged runs. An input digest means every run with it. Empty when
   * there are none. Rejects with `bad-reference`, also for an ambiguous reference.
   */
  findIds(reference: string): Promise<string[]>;
  /**
   * Reads one run and checks all of it. Rejects with `tampered` or `corrupt`, naming what differs from what was archived,
   * and with `missing` for an unknown run id.
   */
  read(runId: string): Promise<ArchivedRun>;
  /** Counts over the runs that started at `sinceMs` or later, in milliseconds since 1970. */
  stats(filter: { sinceMs?: number }): Promise<Stats>;
  /** How long the same runs took. */
  timings(filter: { sinceMs?: number }): Promise<Timings>;
  /**
   * Checks every record and everything that it names. Checks that the chain lacks only records that it says were pruned, and
   * that the archive contains nothing else. Problems are part of the result.
   *
   * @param heads results of `head` from earlier times, kept elsewhere. They prove everything up to the newest of them.
   */
  verify(heads?: readonly KeptHead[]): Promise<Verification>;
  /** The newest entry of the chain, in the form of `Verification.head`. */
  head(): Promise<string>;
  /** Deletes old runs and the values that only they used. Each run leaves its entry in the chain, and the chain says so. */
  prune(options: PruneOptions): Promise<Pruned>;
  /** Deletes runs by their ids in the same way, including damaged runs. */
  delete(runIds: readonly string[], nowMs: number): Promise<Pruned>;
  /** Begins an import of runs of another archive. Creates this archive if necessary. */
  beginImport(origin: RunOrigin): Promise<RunImport>;
}

/** Archives runs in progress. Reports failures of the archive only at the end of a run. */
export interface RunArchiver {
  /** Begins to archive a run. Never throws. */
  begin(runId: string): PendingRun;
  /** Resolves when every finished run is archived, or its archiving has failed. Unfinished runs are not archived. */
  close(): Promise<void>;
}

/** One run that is being archived. */
export interface PendingRun {
  /**
   * Adds a completed call. Resolves when there is room for more. Awaiting it bounds the memory of a run whose results arrive
   * faster than they are stored. Never rejects.
   */
  addCall(call: CallToArchive): Promise<void>;
  /** Archives the run completely or not at all. Never rejects: a failure is one line for a person. */
  finish(run: RunToArchive): Promise<ArchiveResult>;
  /** Ends the run without archiving it. */
  discard(): void;
}

export type ArchiveResult = { ok: true; recordDigest: string } | { ok: false; message: string };

export interface PruneOptions {
  /**
   * Runs older than this, in milliseconds since 1970, are deleted; `Infinity` deletes all runs, whatever their dates. The
   * age of a run counts from its start, that of an imported run from its import.
   */
  beforeMs: number;
  nowMs: number;
}

/** What was deleted with runs. */
export interface Pruned {
  runs: number;
  /** The number of values that only the deleted runs used. */
  blobs: number;
  /** The size of those values as they were stored. */
  bytes: number;
}

/** What was found when everything in an archive was checked. */
export interface Verification {
  runs: number;
  blobs: number;
  /** Entries of pruned runs in the chain, except those at its beginning. */
  pruned: number;
  /** One line for each difference from what was archived. */
  problems: string[];
  /** Remarks for a reader that are no fault of the archive. */
  notes: string[];
  /** The newest entry, as `PLACE:LINK`. A copy kept elsewhere proves later that nothing before it was rewritten. */
  head: string;
}

/** The newest entry of a chain at an earlier time. Earlier versions printed only its link. */
export interface KeptHead {
  id?: number | undefined;
  link: string;
}

/** A run in the order in which runs were archived. */
interface FollowingRun {
  /** Its number in that order, from 1. Runs that were pruned leave gaps. */
  position: number;
  runId: string;
  source: string;
  /** The namespaced names of the tools that it called. */
  tools: readonly string[];
}

/** The runs after a position, in the order in which they were archived, and the position of the newest run. */
export interface FollowingRuns {
  runs: readonly FollowingRun[];
  newest: number;
}

/** The origin of imported runs. */
export interface RunOrigin {
  /** Milliseconds since 1970. */
  importedAt: number;
  /** The origin as lists show it. */
  origin: string;
}

/**
 * Imports runs of another archive, each completely or not at all. Imported runs stay even if a later one is refused. Methods
 * reject with an `ArchiveError` for failures of the archive itself.
 */
export interface RunImport {
  /** The digest of the record of a run that is already here; `undefined` for an unknown run. */
  recordDigestOf(runId: string): Promise<string | undefined>;
  /** Adds a JSON text for later runs. It is kept only if one of them names it. */
  addText(json: string): Promise<void>;
  /**
   * Checks a run as reading it would, and imports it with the texts that it names, which must have been added before.
   *
   * @param recordDigest the digest of the record's canonical JSON.
   */
  addRun(record: RunRecord, recordDigest: string): Promise<ImportResult>;
  /** Drops texts that no run named. Must always be called at the end. */
  end(): Promise<void>;
}

export type ImportResult =
  | { kind: "added" }
  /** The archive already has this run, byte for byte. */
  | { kind: "known" }
  /** The archive has another run with this id. */
  | { kind: "conflict" }
  /** ptc would not have archived such a run. `problem` follows the name of the run. */
  | { kind: "refused"; problem: string };

const PAGE = 1_000;

/**
 * Every matching run, newest first, read page by page.
 *
 * @param onDamaged receives matching runs that cannot be listed.
 * @throws ArchiveError
 */
export async function* allRuns(
  archive: Pick<ArchiveStore, "list">,
  filter: RunFilter,
  onDamaged: (run: DamagedRun) => void,
  pageSize = PAGE,
): AsyncGenerator<ListedRun> {
  let before: string | undefined;
  do {
    const page = await archive.list({ ...filter, ...(before !== undefined && { before }), limit: pageSize });
    for (const run of page.damaged) onDamaged(run);
    yield* page.runs;
    before = page.next;
  } while (before !== undefined);
}
