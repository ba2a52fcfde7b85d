import { canonicalJson, textDigest } from "../protocol/canonical-json.ts";
import { ArchiveError } from "./archive-error.ts";
import type { ImportResult, RunImport, RunOrigin } from "./archive-store.ts";
import { type ReadText, RecordProblem, readContents } from "./archived-run.ts";
import { digestsIn, type RunRecord, WRITTEN } from "./run-record.ts";
import { type RunSummary, summarizeRun } from "./run-summary.ts";

/** The operations that an import needs from a store. Each takes effect completely or not at all. */
export interface ImportRows {
  /** The digest of a run's record, or `undefined` for an unknown run. */
  recordDigestOf(runId: string): Promise<string | undefined>;
  /** Keeps texts until the end of the import, and returns why a text cannot be kept, by its digest. */
  hold(texts: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Reads a text and compares it with its digest. */
  readText: ReadText;
  /** Appends a run whose texts are held. If there is already a run with its id, returns the digest of that record instead. */
  append(record: RunRecord, summary: RunSummary, origin: RunOrigin): Promise<string | undefined>;
  /** Drops texts that no run names. */
  end(): Promise<void>;
}

/** The most characters of texts that are stored in one step, because other writers wait for each step. */
const BATCH_CHARS = 4 * 1024 * 1024;

/** Imports runs into a store. Checks everything in a run that reading it would check. */
export class CheckedImport implements RunImport {
  readonly #rows: ImportRows;
  readonly #origin: RunOrigin;
  /** Why texts cannot be kept, by their digests. */
  readonly #unkept = new Map<string, string>();
  #waiting: string[] = [];
  #waitingChars = 0;

  constructor(rows: ImportRows, origin: RunOrigin) {
    this.#rows = rows;
    this.#origin = origin;
  }

  recordDigestOf(runId: string): Promise<string | undefined> {
    return this.#rows.recordDigestOf(runId);
  }

  async addText(json: string): Promise<void> {
    this.#waiting.push(json);
    this.#waitingChars += json.length;
    if (this.#waitingChars > BATCH_CHARS) await this.#holdWaiting();
  }

  async addRun(record: RunRecord, recordDigest: string): Promise<ImportResult> {
    await this.#holdWaiting();
    const known = await this.#rows.recordDigestOf(record.run_id);
    if (known !== undefined) return { kind: known === recordDigest ? "known" : "conflict" };
    try {
      for (const digest of digestsIn(record)) {
        const problem = this.#unkept.get(digest);
        if (problem !== undefined) throw new RecordProblem(problem);
      }
      const contents = await readContents(record, this.#rows.readText, WRITTEN);
      if (textDigest(canonicalJson(record)) !== recordDigest)
        throw new RecordProblem("the record does not match its digest");
      const there = await this.#rows.append(record, summarizeRun(record, contents), this.#origin);
      if (there === undefined) return { kind: "added" };
      return { kind: there === recordDigest ? "known" : "conflict" };
    } catch (error) {
      const isBadRun =
        error instanceof RecordProblem || (error instanceof ArchiveError && error.code === "unkeepable");
      if (!isBadRun) throw error;
      return { kind: "refused", problem: error.message };
    }
  }

  end(): Promise<void> {
    return this.#rows.end();
  }

  async #holdWaiting(): Promise<void> {
    const texts = this.#waiting;
    this.#waiting = [];
    this.#waitingChars = 0;
    for (const [digest, why] of await this.#rows.hold(texts)) this.#unkept.set(digest, why);
  }
}
