/**
 * Archives runs in PostgreSQL, in a separate thread. Appends runs that end during a transaction together in the next one (group
 * commit). Reports a run as archived when it is on the server's disk. If a connection is lost during a commit, appends the run
 * again: if the commit succeeded, the server recognizes the run by its id.
 */
import { messageOf } from "../../../base/faults.ts";
import { ArchiveError } from "../../archive-error.ts";
import type { ArchiveResult } from "../../archive-store.ts";
import { buildRecord, type CallToArchive, keepValues } from "../../build-record.ts";
import type { CallRecord } from "../../run-record.ts";
import { summarizeRun } from "../../run-summary.ts";
import type { WriterReply, WriterRequest } from "../../writer/archive-writer.ts";
import {
  appendRuns,
  bytesOf,
  holdValues,
  idIsTaken,
  inPieces,
  MAX_SENT_BYTES,
  type PreparedRun,
  prepareRun,
  putText,
  type Values,
} from "../append.ts";
import { openPool, type PgDatabase, patiently, sqlStateOf } from "../database.ts";
import { holdOn, pruneDaily, releaseHeld, sweepAbandoned } from "../prune.ts";
import { FLUSH, makeMonth, migrate, monthAfter, monthOf, VALUE_MISSING } from "../schema.ts";

/** The data that the thread starts with. */
export interface PostgresWriterOptions {
  url: string;
  keepDays: number;
  /** How long to retry storing a run while the server cannot be reached. */
  patienceMs?: number | undefined;
}

/** The most bytes of one run's values in memory. Above this, values are stored before the run ends. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024;
const MAX_GROUP = 64;
const PATIENCE_MS = 30_000;
/** One connection for runs, and one for values that large runs hand over early. */
const CONNECTIONS = 2;

interface OpenRun {
  /** Its calls, which name their texts by digests. */
  calls: CallRecord[];
  /** Texts that are not stored yet, ready to send. They are prepared while the program runs. */
  values: Values;
  /** Whether texts are held for this run. */
  isHeld: boolean;
  /** Why this run can no longer be archived. */
  failure?: string;
  /** Settles when earlier requests are done. */
  earlier: Promise<void>;
}

interface Waiting {
  run: PreparedRun;
  settle: (result: ArchiveResult) => void;
}

export class PostgresRunWriter {
  readonly #options: PostgresWriterOptions;
  readonly #reply: (reply: WriterReply) => void;
  readonly #runs = new Map<string, OpenRun>();
  readonly #months = new Set<number>();
  #opening: Promise<PgDatabase> | undefined;
  #waiting: Waiting[] = [];
  #appending: Promise<void> | undefined;
  #underWay = new Set<Promise<void>>();

  constructor(options: PostgresWriterOptions, reply: (reply: WriterReply) => void) {
    this.#options = options;
    this.#reply = reply;
  }

  /** Connects before the first run. A failure is reported to the first run that needs the archive. */
  warmUp(): void {
    this.#open().catch(() => {});
  }

  /** Never throws. */
  handle(request: Exclude<WriterRequest, { kind: "close" }>): void {
    const { runId } = request;
    const run = this.#runs.get(runId) ?? {
      calls: [],
      values: new Map(),
      isHeld: false,
      earlier: Promise.resolve(),
    };
    this.#runs.set(runId, run);
    run.earlier = run.earlier.then(() => this.#handle(request, run));
    const done = run.earlier;
    this.#underWay.add(done);
    void done.then(() => this.#underWay.delete(done));
  }

  async #handle(request: Exclude<WriterRequest, { kind: "close" }>, run: OpenRun): Promise<void> {
    const { runId } = request;
    switch (request.kind) {
      case "calls":
        await this.#take(runId, run, request.calls);
        this.#reply({ kind: "taken", runId });
        return;
      case "finish": {
        await this.#take(runId, run, request.calls);
        const result = await this.#store(run, request);
        this.#runs.delete(runId);
        this.#reply({ kind: "settled", runId, result });
        return;
      }
      case "discard":
        await this.#release(runId, run);
        this.#runs.delete(runId);
    }
  }

  /** Sweeps and prunes. To be called when no run waits for an answer. Never rejects. */
  async tidy(): Promise<void> {
    try {
      const db = await this.#open();
      const nowMs = Date.now();
      await sweepAbandoned(db, nowMs);
      await pruneDaily(db, this.#options.keepDays, nowMs);
      await makeMonth(db, monthAfter(monthOf(nowMs)));
    } catch {
      // The next ptc tries again. If the same failure affects a run, that run reports it.
    }
  }

  /** Resolves when everything is done, and closes the connections. */
  async close(): Promise<void> {
    await this.idle();
    await (await this.#opening?.catch(() => undefined))?.close();
    this.#opening = undefined;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async #take(runId: string, run: OpenRun, calls: readonly CallToArchive[]): Promise<void> {
    if (run.failure !== undefined) return;
    try {
      for (const call of calls) run.calls.push(keepCall(call, run.values));
      if (bytesOf(run.values) > MAX_PENDING_BYTES) await this.#holdAll(runId, run);
    } catch (error) {
      run.failure = describe(error);
      run.calls = [];
      run.values = new Map();
    }
  }

  async #store(run: OpenRun, request: Extract<WriterRequest, { kind: "finish" }>): Promise<ArchiveResult> {
    const { runId } = request;
    let message = run.failure;
    if (message === undefined && run.calls.length !== request.callCount)
      message = `the archive's writer has lost calls of run ${runId}: the run was not archived`;
    if (message === undefined) {
      try {
        const record = buildRecord(request.run, run.calls, (json) => putText(run.values, json));
        const prepared = prepareRun(record, summarizeRun(record, request.run), run.values);
        if (bytesOf(prepared.values) > MAX_SENT_BYTES) await this.#holdAll(runId, run);
        const result = await this.#append(prepared);
        if (result.ok) return result;
        message = result.message;
      } catch (error) {
        message = describe(error);
      }
    }
    await this.#release(runId, run);
    return { ok: false, message };
  }

  /** Stores the texts of a run before it is appended, in pieces. */
  async #holdAll(holder: string, run: OpenRun): Promise<void> {
    const nowMs = Date.now();
    const month = monthOf(nowMs);
    run.isHeld = true;
    for (const piece of inPieces(run.values))
      await this.#patiently(async (db) => {
        await this.#prepareMonth(db, month);
        await holdValues(db, piece, { holder, month, nowMs });
      });
    await this.#patiently((db) => holdOn(db, holder, nowMs));
    for (const digest of run.values.keys()) run.values.set(digest, undefined);
  }

  async #release(runId: string, run: OpenRun): Promise<void> {
    if (!run.isHeld) return;
    try {
      await releaseHeld(await this.#open(), runId);
    } catch {
      // A later sweep removes values that could not be released.
    }
  }

  #append(run: PreparedRun): Promise<ArchiveResult> {
    return new Promise((settle) => {
      this.#waiting.push({ run, settle });
      this.#appending ??= this.#appendAll().finally(() => {
        this.#appending = undefined;
      });
    });
  }

  async #appendAll(): Promise<void> {
    // Runs that end in the same turn of the event loop are appended together.
    await null;
    while (this.#waiting.length > 0) {
      const group = this.#nextGroup();
      try {
        await this.#appendGroup(group);
      } catch (error) {
        // A problem of one run must not keep the others out.
        const isOfOne =
          error instanceof ArchiveError && !["unreachable", "busy", "full"].includes(error.code);
        if (group.length > 1 && isOfOne) for (const each of group) await this.#appendAlone(each);
        else for (const { settle } of group) settle({ ok: false, message: describe(error) });
      }
    }
  }

  /** The runs that have waited longest, all of one month and as many as can be sent together. */
  #nextGroup(): Waiting[] {
    const [first] = this.#waiting;
    let bytes = 0;
    const group = this.#waiting
      .filter(({ run }) => run.month === first?.run.month)
      .slice(0, MAX_GROUP)
      .filter(({ run }, index) => {
        bytes += bytesOf(run.values);
        return index === 0 || bytes <= MAX_SENT_BYTES;
      });
    this.#waiting = this.#waiting.filter((each) => !group.includes(each));
    return group;
  }

  async #appendAlone(waiting: Waiting): Promise<void> {
    try {
      await this.#appendGroup([waiting]);
    } catch (error) {
      waiting.settle({ ok: false, message: describe(error) });
    }
  }

  async #appendGroup(group: readonly Waiting[]): Promise<void> {
    const runs = group.map(({ run }) => run);
    const appended = await this.#patiently(async (db) => {
      await this.#prepareMonth(db, runs[0]?.month ?? 0);
      const [found] = await db.inARow((each) => Promise.all([appendRuns(each, runs), each.exec(FLUSH)]));
      return found;
    });
    for (const [index, { run, settle }] of group.entries()) {
      const recordDigest = appended[index]?.found_digest;
      if (recordDigest === run.recordDigest) settle({ ok: true, recordDigest });
      else {
        await this.#removeValues(run);
        settle({ ok: false, message: describe(idIsTaken(run.runId)) });
      }
    }
  }

  /** Removes the values that were stored with a run whose id is taken, and that no other run has. */
  async #removeValues({ runId, month, values }: PreparedRun): Promise<void> {
    try {
      const db = await this.#open();
      await holdValues(db, values, { holder: runId, month, nowMs: Date.now() });
      await releaseHeld(db, runId);
    } catch {
      // The run is refused all the same. What is already held is swept later.
    }
  }

  /** Creates the partitions of a month once. Another process may later drop them with their content. */
  async #prepareMonth(db: PgDatabase, month: number): Promise<void> {
    if (this.#months.has(month)) return;
    await makeMonth(db, month);
    this.#months.add(month);
  }

  /** Works on the database, and tries again while it cannot be reached. */
  #patiently<T>(work: (db: PgDatabase) => Promise<T>): Promise<T> {
    const { patienceMs = PATIENCE_MS } = this.#options;
    return patiently(async (tries) => {
      try {
        return await work((await this.#open()).within());
      } catch (error) {
        // A partition that another process has dropped meanwhile (23514) is created again.
        const isGone = sqlStateOf(error) === "23514";
        if (isGone && tries === 0) this.#months.clear();
        if (isGone || sqlStateOf(error) === VALUE_MISSING)
          throw new ArchiveError(tries === 0 && isGone ? "busy" : "failed", lost(error), error);
        throw error;
      }
    }, patienceMs);
  }

  #open(): Promise<PgDatabase> {
    this.#opening ??= openPool(this.#options.url, { max: CONNECTIONS }).then(async (db) => {
      await migrate(db);
      return db;
    });
    this.#opening.catch(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }
}

function lost(error: unknown): string {
  const why = messageOf(error);
  return `the archive was deleted or replaced while a run was under way: the run was not archived (${why})`;
}

function keepCall(call: CallToArchive, values: Values): CallRecord {
  const { facts, ...kept } = keepValues(call, (json) => putText(values, json));
  return { ...facts, ...kept };
}

function describe(error: unknown): string {
  if (error instanceof ArchiveError) return error.message;
  return `the run could not be archived: ${messageOf(error)}`;
}
