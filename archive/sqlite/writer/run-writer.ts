import { messageOf } from "../../../base/faults.ts";
import { ArchiveError } from "../../archive-error.ts";
import type { ArchiveResult } from "../../archive-store.ts";
import type { WriterReply, WriterRequest } from "../../writer/archive-writer.ts";
import { releaseHeld, sweepAbandoned } from "../blobs.ts";
import { fileAt, openForWriting } from "../connection.ts";
import type { Database } from "../database.ts";
import { pruneDaily } from "../prune.ts";
import { holdCalls, type PendingCall, storeRun } from "../store-run.ts";

/** The most characters of one run's calls in memory. Above this, calls are stored before the run ends. */
const MAX_PENDING_CHARS = 4 * 1024 * 1024;

/** How long storing a run is retried while others keep the archive busy, for example with an import. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 50;

interface OpenRun {
  calls: PendingCall[];
  pendingChars: number;
  /** Why this run can no longer be archived. */
  failure?: string;
}

/**
 * Handles the requests to the writing thread. Never throws: it reports a failure to archive a run at the end of the run, and
 * the next run tries again on a new connection.
 */
export class RunWriter {
  readonly #options: WriterOptions;
  readonly #runs = new Map<string, OpenRun>();
  readonly #reply: (reply: WriterReply) => void;
  #db: Database | undefined;
  /** Identity of the open file, to notice when its path leads to another file. */
  #file: string | undefined;

  constructor(options: WriterOptions, reply: (reply: WriterReply) => void) {
    this.#options = options;
    this.#reply = reply;
  }

  /** Opens the archive before the first run. A failure is reported to the first run that needs the archive. */
  warmUp(): void {
    try {
      this.#open();
    } catch {
      this.#drop();
    }
  }

  handle(request: Exclude<WriterRequest, { kind: "close" }>): void {
    try {
      this.#handle(request);
    } catch (error) {
      // An error in one run must not end the thread, which serves other runs too.
      const { runId } = request;
      this.#runs.set(runId, { calls: [], pendingChars: 0, failure: this.#fail(error) });
      if (request.kind === "calls") this.#reply({ kind: "taken", runId });
      if (request.kind !== "finish") return;
      this.#runs.delete(runId);
      this.#reply({ kind: "settled", runId, result: { ok: false, message: this.#fail(error) } });
    }
  }

  #handle(request: Exclude<WriterRequest, { kind: "close" }>): void {
    const { runId } = request;
    const run = this.#runs.get(runId) ?? { calls: [], pendingChars: 0 };
    this.#runs.set(runId, run);
    switch (request.kind) {
      case "calls":
        this.#take(runId, run, request.calls);
        this.#reply({ kind: "taken", runId });
        return;
      case "finish":
        for (const call of request.calls) run.calls.push(call);
        this.#reply({ kind: "settled", runId, result: this.#store(run, request) });
        this.#runs.delete(runId);
        return;
      case "discard":
        this.#release(runId, run);
        this.#runs.delete(runId);
        return;
    }
  }

  /** Sweeps and prunes. To be called when no run waits for an answer. */
  tidy(): void {
    if (this.#db === undefined) return;
    const nowMs = Date.now();
    try {
      sweepAbandoned(this.#db, nowMs);
      pruneDaily(this.#db, this.#options.keepDays, nowMs);
    } catch {
      // The next ptc tries again. If the same failure affects a run, that run reports it.
      this.#drop();
    }
  }

  close(): void {
    this.#drop();
  }

  #take(runId: string, run: OpenRun, calls: PendingCall[]): void {
    if (run.failure !== undefined) return;
    for (const call of calls) run.calls.push(call);
    run.pendingChars += calls.reduce((sum, call) => sum + ("held" in call ? 0 : textChars(call)), 0);
    if (run.pendingChars <= MAX_PENDING_CHARS) return;
    try {
      run.calls = this.#patiently((db) => holdCalls(db, runId, run.calls, Date.now()));
      run.pendingChars = 0;
    } catch (error) {
      run.failure = this.#fail(error);
      run.calls = [];
    }
  }

  #store(run: OpenRun, request: Extract<WriterRequest, { kind: "finish" }>): ArchiveResult {
    let message = run.failure;
    if (message === undefined && run.calls.length !== request.callCount) {
      message = `the archive's writer has lost calls of run ${request.runId}: the run was not archived`;
    }
    if (message === undefined) {
      try {
        const store = (db: Database) => storeRun(db, request.run, run.calls);
        return { ok: true, recordDigest: this.#patiently(store) };
      } catch (error) {
        message = this.#fail(error);
      }
    }
    this.#release(request.runId, run);
    return { ok: false, message };
  }

  #release(runId: string, run: OpenRun): void {
    if (!run.calls.some((call) => "held" in call) && run.failure === undefined) return;
    try {
      releaseHeld(this.#open(), runId);
    } catch {
      // Blobs that could not be released are swept after some days.
      this.#drop();
    }
  }

  /** Works on the archive, and retries while other processes keep it busy. Blocking is fine in this thread. */
  #patiently<T>(work: (db: Database) => T): T {
    const giveUpAt = Date.now() + (this.#options.patienceMs ?? PATIENCE_MS);
    for (;;) {
      try {
        return work(this.#open());
      } catch (error) {
        if (!(error instanceof ArchiveError) || error.code !== "busy" || Date.now() > giveUpAt) throw error;
        this.#drop();
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
      }
    }
  }

  #open(): Database {
    const { path, busyTimeoutMs } = this.#options;
    // SQLite would keep writing to a file that was moved or deleted, and the runs would be lost.
    if (this.#db !== undefined && fileAt(path) !== this.#file) this.#drop();
    if (this.#db === undefined) {
      this.#db = openForWriting(path, busyTimeoutMs === undefined ? {} : { busyTimeoutMs });
      this.#file = fileAt(path);
    }
    return this.#db;
  }

  #fail(error: unknown): string {
    this.#drop();
    if (error instanceof ArchiveError) return error.message;
    return `the run could not be archived: ${messageOf(error)}`;
  }

  #drop(): void {
    try {
      this.#db?.close();
    } catch {
      // The connection may be broken in any way. The next use opens a new one.
    }
    this.#db = undefined;
  }
}

function textChars({ argumentsJson, outcomeJson }: { argumentsJson: string; outcomeJson: string }): number {
  return argumentsJson.length + outcomeJson.length;
}

/** Options that the writing thread gets when it starts. */
export interface WriterOptions {
  path: string;
  keepDays: number;
  /** How long one attempt to write waits for other writers. */
  busyTimeoutMs?: number;
  /** How long storing a run is retried while others keep the archive busy. */
  patienceMs?: number;
}
