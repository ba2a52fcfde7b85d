import { setImmediate as turn } from "node:timers/promises";
import { ArchiveError } from "../../archive/archive-error.ts";
import type {
  ArchiveStore,
  FollowingRuns,
  KeptHead,
  PendingRun,
  Pruned,
  PruneOptions,
  RunImport,
  RunOrigin,
  Verification,
} from "../../archive/archive-store.ts";
import { checkReadable, checkSize } from "../../archive/archived-json.ts";
import type { ArchivedRun, TextRead } from "../../archive/archived-run.ts";
import { buildRecord, type CallToArchive, keepValues } from "../../archive/build-record.ts";
import {
  type ChainEnd,
  entryDigest,
  linkTo,
  NO_LINK,
  type Pruning,
  pruningDigest,
  statePruning,
} from "../../archive/chain.ts";
import { ListedRun, type PageFilter, type RunFilter, type RunPage } from "../../archive/listed-run.ts";
import { CheckedImport, type ImportRows } from "../../archive/run-import.ts";
import { digestsIn, type RunRecord } from "../../archive/run-record.ts";
import {
  type FoundRuns,
  findMeant,
  type Meant,
  namesSeveral,
  parseReference,
} from "../../archive/run-reference.ts";
import type { Stats, Timings } from "../../archive/run-stats.ts";
import { type RunSummary, summarizeRun, summarizeTools } from "../../archive/run-summary.ts";
import {
  damagedRun,
  readRun,
  type StoredEntry,
  type StoredRows,
  type StoredText,
  verifyArchive,
} from "../../archive/verification.ts";
import { canonicalJson, textDigest } from "../../protocol/canonical-json.ts";
import { matchesPattern } from "../../protocol/tool-names.ts";
import { countRuns, type KeptRow, timeRuns } from "./count-runs.ts";

/** A place in the chain. */
type Place = { run: KeptRow } | { entry: string } | { previous: string; pruning: Pruning };

/**
 * An archive in memory: the second way to keep what `ArchiveStore` promises to keep, for tests. Every answer takes a turn of
 * the event loop, as that of a database elsewhere would. Tests damage what it keeps through `texts` and `rowOf`.
 */
export class MemoryStore implements ArchiveStore {
  readonly texts = new Map<string, string>();
  readonly #places = new Map<number, Place>();
  readonly #held = new Set<string>();
  #start: ChainEnd = { id: 0, link: NO_LINK };
  #head: ChainEnd = { id: 0, link: NO_LINK };
  #made = false;

  begin(runId: string): PendingRun {
    const calls: CallToArchive[] = [];
    return {
      addCall: async (call) => void calls.push(call),
      finish: async (run) => {
        await turn();
        try {
          const put = (json: string) => this.put(json);
          const stored = calls.map((call) => {
            const { facts, ...kept } = keepValues(call, put);
            return { ...facts, ...kept };
          });
          const record = buildRecord(run, stored, put);
          const known = this.#rowOf(runId)?.recordDigest;
          const digest = textDigest(canonicalJson(record));
          if (known === digest) return { ok: true, recordDigest: digest };
          if (known !== undefined) throw new ArchiveError("unkeepable", "there is another run with this id");
          return { ok: true, recordDigest: this.append(record, summarizeRun(record, run)) };
        } catch (error) {
          this.#dropUnused();
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

  async list(filter: PageFilter): Promise<RunPage> {
    return pageOf(await this.#rows(), filter);
  }

  async following(position: number, limit: number): Promise<FollowingRuns> {
    const rows = (await this.#rows()).filter(({ place }) => place > position).slice(0, limit);
    const runs = rows.map(({ place, columns: { run_id: runId, source }, tools }) => ({
      ...{ position: place, runId, source },
      tools: tools.map(({ tool }) => tool),
    }));
    return { runs, newest: this.#head.id };
  }

  async find(reference: string): Promise<FoundRuns> {
    const rows = await this.#rows();
    const countOf = (digest: string) => rows.filter(({ columns }) => columns.input_digest === digest).length;
    return findMeant(meantBy(rows, reference), (filter) => pageOf(rows, filter), countOf);
  }

  async findIds(reference: string): Promise<string[]> {
    const rows = await this.#rows();
    const { runIds, digests } = meantBy(rows, reference);
    if (runIds.length + digests.length > 1) throw namesSeveral(reference);
    const ofInput = rows.filter(({ columns }) => digests.includes(columns.input_digest));
    return [...runIds, ...ofInput.map(({ columns }) => columns.run_id)];
  }

  async read(runId: string): Promise<ArchivedRun> {
    await this.#rows();
    return readRun(this.#stored(), runId);
  }

  async stats({ sinceMs = 0 }: { sinceMs?: number }): Promise<Stats> {
    return countRuns(await this.#rows(), sinceMs);
  }

  async timings({ sinceMs = 0 }: { sinceMs?: number }): Promise<Timings> {
    return timeRuns(await this.#rows(), sinceMs);
  }

  async verify(heads: readonly KeptHead[] = []): Promise<Verification> {
    await this.#rows();
    return verifyArchive(this.#stored(), heads);
  }

  async head(): Promise<string> {
    await this.#rows();
    return `${this.#head.id}:${this.#head.link}`;
  }

  async prune({ beforeMs, nowMs }: PruneOptions): Promise<Pruned> {
    const isOld = ({ importedAt, columns: { started_at: at } }: KeptRow) =>
      at < beforeMs ? (importedAt ?? at) < beforeMs : importedAt !== null && importedAt < beforeMs;
    return this.#drop((await this.#rows()).filter(isOld), nowMs);
  }

  async delete(runIds: readonly string[], nowMs: number): Promise<Pruned> {
    const rows = await this.#rows();
    return this.#drop(
      rows.filter(({ columns }) => runIds.includes(columns.run_id)),
      nowMs,
    );
  }

  async beginImport(origin: RunOrigin): Promise<RunImport> {
    await turn();
    this.#made = true;
    const rows: ImportRows = {
      recordDigestOf: async (runId) => this.#rowOf(runId)?.recordDigest,
      hold: async (texts) => {
        const unkept = new Map<string, string>();
        for (const json of texts) {
          try {
            this.#held.add(this.put(json));
          } catch (error) {
            unkept.set(textDigest(json), (error as Error).message);
          }
        }
        return unkept;
      },
      readText: (digest) => this.#readText(digest),
      append: async (record, summary) => {
        const there = this.#rowOf(record.run_id)?.recordDigest;
        if (there === undefined) this.append(record, summary, origin);
        return there;
      },
      end: async () => {
        this.#held.clear();
        this.#dropUnused();
      },
    };
    return new CheckedImport(rows, origin);
  }

  async close(): Promise<void> {}

  /** The row of a run, which a test may damage. */
  rowOf(runId: string): KeptRow {
    const row = this.#rowOf(runId);
    if (row === undefined) throw new Error(`there is no run ${runId}`);
    return row;
  }

  /** Removes a run as somebody would who does not know of the chain. */
  remove(runId: string): void {
    this.#places.delete(this.rowOf(runId).place);
    this.#dropUnused();
  }

  /** Keeps a text, and returns its digest. @throws ArchiveError `unkeepable` */
  put(json: string): string {
    checkSize(Buffer.byteLength(json));
    checkReadable(json);
    const digest = textDigest(json);
    this.texts.set(digest, json);
    return digest;
  }

  async #readText(digest: string): Promise<TextRead> {
    await turn();
    const json = this.texts.get(digest);
    if (json === undefined) return { ok: false, problem: "is missing" };
    return textDigest(json) === digest
      ? { ok: true, json }
      : { ok: false, problem: "does not match its digest" };
  }

  /** Appends a record whose texts are kept already, which is not checked. */
  append(record: RunRecord, columns: RunSummary, imported?: RunOrigin): string {
    const recordDigest = this.put(canonicalJson(record));
    const [importedAt, origin] = [imported?.importedAt ?? null, imported?.origin ?? null];
    const { id, link: previous } = this.#head;
    const link = linkTo(previous, entryDigest({ recordDigest, importedAt, origin }));
    const counted = { started_at: record.started_at, isReplay: record.source === "replay" };
    const tools = summarizeTools(record.calls).map((each) => ({ ...each, ...counted }));
    const references = [...new Set([recordDigest, ...digestsIn(record)])];
    const row = {
      place: id + 1,
      previous,
      link,
      recordDigest,
      importedAt,
      origin,
      columns,
      tools,
      references,
    };
    this.#places.set(row.place, { run: row });
    this.#head = { id: row.place, link };
    this.#made = true;
    return recordDigest;
  }

  #drop(rows: readonly KeptRow[], at: number): Pruned {
    if (rows.length === 0) return { runs: 0, blobs: 0, bytes: 0 };
    for (const row of rows) this.#places.set(row.place, { entry: entryDigest(row) });
    const prunings = [...this.#places.values()].flatMap((each) => ("pruning" in each ? [each.pruning] : []));
    const entryAt = (place: number) => {
      const found = this.#places.get(place);
      return found !== undefined && "entry" in found ? found.entry : undefined;
    };
    const places = rows.map(({ place }) => place);
    const { start, pruning } = statePruning(this.#start, prunings, { places, at }, entryAt);
    for (const place of [...this.#places.keys()]) if (place <= start.id) this.#places.delete(place);
    this.#start = start;
    const { id, link: previous } = this.#head;
    this.#places.set(id + 1, { previous, pruning: { ...pruning, id: id + 1 } });
    this.#head = { id: id + 1, link: linkTo(previous, pruningDigest(pruning)) };
    return { runs: rows.length, ...this.#dropUnused() };
  }

  #dropUnused(): { blobs: number; bytes: number } {
    const used = new Set([...this.#inOrder().flatMap(({ references }) => references), ...this.#held]);
    const unused = [...this.texts].filter(([digest]) => !used.has(digest));
    for (const [digest] of unused) this.texts.delete(digest);
    return { blobs: unused.length, bytes: unused.reduce((sum, [, json]) => sum + json.length, 0) };
  }

  #inOrder(): KeptRow[] {
    return [...this.#places.values()].flatMap((each) => ("run" in each ? [each.run] : []));
  }

  #rowOf(runId: string): KeptRow | undefined {
    return this.#inOrder().find(({ columns }) => columns.run_id === runId);
  }

  /** The runs in the order in which they were archived. */
  async #rows(): Promise<KeptRow[]> {
    await turn();
    if (!this.#made) throw new ArchiveError("missing", "there is no archive");
    return this.#inOrder();
  }

  #stored(): StoredRows {
    const { texts, ...store } = {
      texts: this.texts,
      places: this.#places,
      ends: { start: this.#start, head: this.#head },
      row: (runId: string) => this.#rowOf(runId),
    };
    const used = () => new Set(this.#inOrder().flatMap(({ references }) => references));
    return {
      place: "in memory",
      faults: async () => [],
      chainEnd: async (name) => store.ends[name],
      async *entries(): AsyncGenerator<StoredEntry> {
        for (const [place, each] of [...store.places].sort(([a], [b]) => a - b)) {
          if ("entry" in each) yield { kind: "pruned", place, entry: each.entry };
          else if ("run" in each)
            yield {
              kind: "run",
              place,
              previous: each.run.previous,
              runId: each.run.columns.run_id,
              entry: each.run,
            };
          else {
            const { id: _, ...pruning } = each.pruning;
            yield { kind: "pruning", place, previous: each.previous, statement: canonicalJson(pruning) };
          }
        }
      },
      previousAt: async (place) => {
        const found = store.places.get(place);
        if (found === undefined || "entry" in found) return undefined;
        return "run" in found ? found.run.previous : found.previous;
      },
      run: async (runId) => {
        const row = store.row(runId);
        if (row === undefined) return undefined;
        return { ...row, columns: { ...row.columns } };
      },
      readText: (digest) => this.#readText(digest),
      async *texts(): AsyncGenerator<StoredText> {
        const inRuns = used();
        for (const digest of texts.keys()) yield { digest, keptFor: inRuns.has(digest) ? "run" : "nothing" };
      },
    };
  }
}

/** A page of the runs that match, the newest first. */
function pageOf(rows: readonly KeptRow[], { limit, before, ...filter }: PageFilter): RunPage {
  const matching = rows
    .toReversed()
    .sort((a, b) => b.columns.started_at - a.columns.started_at)
    .filter((row) => matches(row, filter));
  const from = matching.findIndex(({ columns }) => columns.run_id === before) + 1;
  const page = matching.slice(from, from + limit).map(listed);
  const last = matching[from + limit - 1]?.columns.run_id;
  return {
    runs: page.flatMap((each) => ("run" in each ? [each.run] : [])),
    damaged: page.flatMap((each) => ("run" in each ? [] : [each.damaged])),
    next: page.length < limit ? undefined : last,
  };
}

function meantBy(rows: readonly KeptRow[], reference: string): Meant {
  const { digestPrefix, runIdPrefix } = parseReference(reference);
  const like = (column: "run_id" | "input_digest", prefix: string | undefined) => {
    const values = new Set(rows.map(({ columns }) => columns[column]));
    return prefix === undefined ? [] : [...values].filter((value) => value.startsWith(prefix)).sort();
  };
  return { runIds: like("run_id", runIdPrefix), digests: like("input_digest", digestPrefix) };
}

/** A run as lists have it, or as one that cannot be listed. */
function listed({ columns, importedAt, origin }: KeptRow) {
  const parsed = ListedRun.safeParse({ ...columns, imported_at: importedAt, origin });
  if (parsed.success) return { run: parsed.data };
  return {
    damaged: damagedRun(columns.run_id, [...new Set(parsed.error.issues.map(({ path }) => path.join(".")))]),
  };
}

function matches({ columns, tools }: KeptRow, filter: RunFilter): boolean {
  const { status, tool, server, sinceMs, untilMs, inputDigest, runId, clientSession } = filter;
  const is = (wanted: string | undefined, value: string | null) => wanted === undefined || value === wanted;
  const called =
    (tool === undefined && server === undefined) ||
    tools.some((each) => (tool === undefined || matchesPattern(tool, each.tool)) && is(server, each.server));
  return (
    called &&
    (status === "failed" ? columns.status !== "ok" : is(status, columns.status)) &&
    is(filter.source, columns.source) &&
    is(filter.principal, columns.principal) &&
    (filter.text === undefined ||
      `${columns.title}\n${columns.file_name}`.toLowerCase().includes(filter.text.toLowerCase())) &&
    (sinceMs === undefined || columns.started_at >= sinceMs) &&
    (untilMs === undefined || columns.started_at < untilMs) &&
    is(inputDigest, columns.input_digest) &&
    is(runId, columns.run_id) &&
    is(filter.user, columns.user) &&
    is(filter.host, columns.host) &&
    is(filter.client, columns.client) &&
    (clientSession === undefined || columns.client_session?.startsWith(clientSession) === true)
  );
}
