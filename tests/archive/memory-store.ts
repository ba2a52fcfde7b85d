import { setImmediate as turn } from "node:timers/promises";
import { ArchiveError, isAboutOneRun } from "../../archive/archive-error.ts";
import type {
  ArchiveStore,
  KeptHead,
  PendingRun,
  Pruned,
  PruneOptions,
  Verification,
} from "../../archive/archive-store.ts";
import { type ArchivedRun, namingRun, withValues } from "../../archive/archived-run.ts";
import { checkReadable, checkSize } from "../../archive/archived-text.ts";
import { buildRecord, keepValues } from "../../archive/build-record.ts";
import { entryDigest, linkTo } from "../../archive/chain.ts";
import type { FollowingRuns } from "../../archive/following-runs.ts";
import type { PageFilter, RunPage } from "../../archive/listed-run.ts";
import { RecordProblem, readContents } from "../../archive/run-contents.ts";
import type { RunIntake, RunOrigin } from "../../archive/run-intake.ts";
import { digestsIn, type RunRecord } from "../../archive/run-record.ts";
import {
  type FoundRuns,
  MAX_CANDIDATES,
  MAX_OF_INPUT,
  namesSeveral,
  parseReference,
} from "../../archive/run-reference.ts";
import type { Stats } from "../../archive/run-stats.ts";
import { summarizeRun } from "../../archive/run-summary.ts";
import type { CallToArchive } from "../../archive/run-to-archive.ts";
import { canonicalJson, textDigest } from "../../protocol/canonical-json.ts";
import { countRuns } from "./count-runs.ts";
import { matches, type StoredRun } from "./stored-run.ts";

/** A place in the chain. A run that was pruned leaves its entry. */
interface Place {
  entry: string;
  previous: string;
  run: StoredRun | undefined;
}

const START = textDigest("");

/**
 * An archive in memory: the second way to keep what `ArchiveStore` promises to keep. Every answer takes a turn of the
 * event loop, as that of a database elsewhere would.
 */
export class MemoryStore implements ArchiveStore {
  readonly #texts = new Map<string, string>();
  #places: Place[] = [];
  #appended = 0;
  #head = START;
  #made = false;

  begin(runId: string): PendingRun {
    const calls: CallToArchive[] = [];
    return {
      addCall: async (call) => void calls.push(call),
      finish: async (run) => {
        await turn();
        try {
          const put = (json: string) => this.put(json);
          const record = buildRecord(
            run,
            calls.map((call) => {
              const { facts, ...kept } = keepValues(call, put);
              return { ...facts, ...kept };
            }),
            put,
          );
          return { ok: true, recordDigest: this.append(record) };
        } catch (error) {
          this.dropUnused();
          return { ok: false, message: error instanceof Error ? error.message : runId };
        }
      },
      discard: () => {},
    };
  }

  async exists(): Promise<boolean> {
    await turn();
    return this.#made;
  }

  async tryWriting(): Promise<void> {
    await turn();
  }

  async list({ limit, before, ...filter }: PageFilter): Promise<RunPage> {
    const matching = (await this.#runs()).filter((run) => matches(run, filter));
    const from = before === undefined ? 0 : matching.findIndex(({ listed }) => listed.run_id === before) + 1;
    const runs = matching.slice(from, from + limit).map(({ listed }) => listed);
    return { runs, damaged: [], next: runs.length < limit ? undefined : runs.at(-1)?.run_id };
  }

  async following(position: number, limit: number): Promise<FollowingRuns> {
    await this.#runs();
    const placed = this.#places.flatMap(({ run }, i) =>
      run === undefined ? [] : [{ run, position: i + 1 }],
    );
    const runs = placed
      .filter((each) => each.position > position)
      .slice(0, limit)
      .map(({ run: { record }, position: at }) => ({
        position: at,
        runId: record.run_id,
        source: record.source,
        tools: [...new Set(record.calls.map(({ tool }) => tool))],
      }));
    return { runs, newest: this.#places.length };
  }

  async find(reference: string): Promise<FoundRuns> {
    const { runs, inputs, digests } = await this.#named(reference);
    const [only] = runs;
    if (digests.length === 0 && runs.length === 1 && only) return { kind: "one", run: only.listed };
    if (runs.length === 0 && digests.length === 1) {
      const [run] = inputs;
      if (inputs.length === 1 && run) return { kind: "one", run: run.listed };
      const listed = inputs.slice(0, MAX_OF_INPUT).map((each) => each.listed);
      return { kind: "many", inputDigest: digests[0] ?? "", runs: listed, total: inputs.length };
    }
    const candidates = [...digests, ...runs.map(({ record }) => record.run_id)].slice(0, MAX_CANDIDATES);
    return candidates.length === 0 ? { kind: "none" } : { kind: "ambiguous", candidates };
  }

  async findIds(reference: string): Promise<string[]> {
    const { runs, inputs, digests } = await this.#named(reference);
    if (runs.length + digests.length > 1) throw namesSeveral(reference);
    return [...runs, ...inputs].map(({ record }) => record.run_id);
  }

  async read(runId: string): Promise<ArchivedRun> {
    const run = (await this.#runs()).find(({ record }) => record.run_id === runId);
    if (run === undefined) throw new ArchiveError("missing", `run ${runId} is not in the archive`);
    const { listed: _, ...entry } = run;
    const contents = namingRun(runId, () => readContents(run.record, (digest) => this.text(digest)));
    return withValues({ ...contents, ...entry }, async (digest) => {
      await turn();
      return this.text(digest);
    });
  }

  async stats({ sinceMs = 0 }: { sinceMs?: number }): Promise<Stats> {
    return countRuns((await this.#runs()).filter(({ record }) => record.started_at >= sinceMs));
  }

  async verify(heads: readonly KeptHead[] = []): Promise<Verification> {
    const runs = await this.#runs();
    const problems: string[] = [];
    let link = this.#places[0]?.previous ?? this.#head;
    for (const { entry, previous, run } of this.#places) {
      if (previous !== link) problems.push("a record does not follow the one before it");
      link = linkTo(previous, run === undefined ? entry : entryDigest(run));
      if (run === undefined) continue;
      await this.read(run.record.run_id).catch((error: unknown) => {
        if (!isAboutOneRun(error)) throw error;
        problems.push(error.message);
      });
    }
    if (link !== this.#head) problems.push("the chain does not end in its newest record");
    const links = [...this.#places.map(({ previous }) => previous), this.#head];
    for (const kept of heads) if (!links.includes(kept.link)) problems.push(`${kept.link} is no link`);
    const pruned = this.#places.length - runs.length;
    const head = await this.head();
    return { runs: runs.length, blobs: this.#texts.size, pruned, problems, notes: [], head };
  }

  async head(): Promise<string> {
    await this.#runs();
    return `${this.#appended}:${this.#head}`;
  }

  async prune({ beforeMs }: PruneOptions): Promise<Pruned> {
    const old = (await this.#runs()).filter(
      ({ record, importedAt }) => (importedAt ?? record.started_at) < beforeMs,
    );
    return this.#drop(old.map(({ record }) => record.run_id));
  }

  async delete(runIds: readonly string[]): Promise<Pruned> {
    await this.#runs();
    return this.#drop(runIds);
  }

  async takeIn(origin: RunOrigin): Promise<RunIntake> {
    await turn();
    this.#made = true;
    return new MemoryIntake(this, origin);
  }

  async close(): Promise<void> {}

  /** Keeps a text. @throws ArchiveError `unkeepable` */
  put(json: string): string {
    checkSize(Buffer.byteLength(json));
    checkReadable(json);
    const digest = textDigest(json);
    this.#texts.set(digest, json);
    return digest;
  }

  text(digest: string) {
    const json = this.#texts.get(digest);
    if (json === undefined) return { ok: false, problem: "is missing" } as const;
    if (textDigest(json) !== digest) return { ok: false, problem: "does not match its digest" } as const;
    return { ok: true, json } as const;
  }

  recordDigestOf(runId: string): string | undefined {
    return this.#places.find(({ run }) => run?.record.run_id === runId)?.run?.recordDigest;
  }

  append(record: RunRecord, imported?: RunOrigin): string {
    const contents = readContents(record, (digest) => this.text(digest));
    const recordDigest = this.put(canonicalJson(record));
    const [importedAt, origin] = [imported?.importedAt ?? null, imported?.origin ?? null];
    const listed = { ...summarizeRun(record, contents), imported_at: importedAt, origin };
    const run = { record, recordDigest, importedAt, origin, listed };
    const entry = entryDigest(run);
    this.#places.push({ entry, previous: this.#head, run });
    this.#head = linkTo(this.#head, entry);
    this.#appended++;
    this.#made = true;
    return recordDigest;
  }

  dropUnused(): { blobs: number; bytes: number } {
    const used = new Set(
      this.#places.flatMap(({ run }) => (run ? [run.recordDigest, ...digestsIn(run.record)] : [])),
    );
    const unused = [...this.#texts].filter(([digest]) => !used.has(digest));
    for (const [digest] of unused) this.#texts.delete(digest);
    return { blobs: unused.length, bytes: unused.reduce((sum, [, json]) => sum + json.length, 0) };
  }

  #drop(runIds: readonly string[]): Pruned {
    let runs = 0;
    for (const place of this.#places) {
      if (place.run === undefined || !runIds.includes(place.run.record.run_id)) continue;
      place.run = undefined;
      runs++;
    }
    const kept = this.#places.findIndex(({ run }) => run !== undefined);
    this.#places = kept < 0 ? [] : this.#places.slice(kept);
    return { runs, ...this.dropUnused() };
  }

  /** The newest first. */
  async #runs(): Promise<StoredRun[]> {
    await turn();
    if (!this.#made) throw new ArchiveError("missing", "there is no archive");
    return this.#places
      .flatMap(({ run }) => (run === undefined ? [] : [run]))
      .reverse()
      .sort((a, b) => b.record.started_at - a.record.started_at);
  }

  async #named(reference: string): Promise<{ runs: StoredRun[]; inputs: StoredRun[]; digests: string[] }> {
    const { digestPrefix, runIdPrefix } = parseReference(reference);
    const all = await this.#runs();
    const begins = (text: string, prefix: string | undefined) =>
      prefix !== undefined && text.startsWith(prefix);
    const inputs = all.filter(({ record }) => begins(record.input_digest, digestPrefix));
    return {
      runs: all.filter(({ record }) => begins(record.run_id, runIdPrefix)),
      inputs,
      digests: [...new Set(inputs.map(({ record }) => record.input_digest))],
    };
  }
}

class MemoryIntake implements RunIntake {
  readonly #store: MemoryStore;
  readonly #origin: RunOrigin;
  readonly #unkept = new Map<string, string>();

  constructor(store: MemoryStore, origin: RunOrigin) {
    this.#store = store;
    this.#origin = origin;
  }

  async recordDigestOf(runId: string): Promise<string | undefined> {
    return this.#store.recordDigestOf(runId);
  }

  async addText(json: string): Promise<void> {
    try {
      this.#store.put(json);
    } catch (error) {
      this.#unkept.set(textDigest(json), (error as Error).message);
    }
  }

  async addRun(record: RunRecord, recordDigest: string): ReturnType<RunIntake["addRun"]> {
    const known = this.#store.recordDigestOf(record.run_id);
    if (known !== undefined) return { kind: known === recordDigest ? "known" : "conflict" };
    for (const digest of digestsIn(record)) {
      const problem = this.#unkept.get(digest);
      if (problem !== undefined) return { kind: "refused", problem };
    }
    try {
      this.#store.append(record, this.#origin);
      return { kind: "added" };
    } catch (error) {
      if (!(error instanceof RecordProblem)) throw error;
      return { kind: "refused", problem: error.message };
    }
  }

  async end(): Promise<void> {
    this.#store.dropUnused();
  }
}
