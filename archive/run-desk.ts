import { ArchiveError } from "./archive-error.ts";
import { openForWriting } from "./connection.ts";
import type { Database } from "./database.ts";
import { pruneDaily } from "./prune.ts";
import { holdCalls, type PendingCall, storeRun } from "./store-run.ts";
import { releaseHeld, sweepAbandoned } from "./sweep.ts";
import type { ArchiveResult, WriterOptions, WriterReply, WriterRequest } from "./writer-messages.ts";

/** Calls of one run that are kept in memory, in characters of their texts; with more, they go to the disk early. */
const MAX_PENDING_CHARS = 4 * 1024 * 1024;

interface OpenRun {
  calls: PendingCall[];
  pendingChars: number;
  /** Why this run cannot be archived any more. */
  failure?: string;
}

/**
 * What the writing thread does with each request. Nothing is thrown: a run that cannot be archived is told so when it
 * ends, and the next one tries again on a new connection.
 */
export class RunDesk {
  readonly #options: WriterOptions;
  readonly #runs = new Map<string, OpenRun>();
  readonly #reply: (reply: WriterReply) => void;
  #db: Database | undefined;

  constructor(options: WriterOptions, reply: (reply: WriterReply) => void) {
    this.#options = options;
    this.#reply = reply;
  }

  /** Opens the archive ahead of the first run. What stands in the way is told to the run that needs it. */
  warmUp(): void {
    try {
      this.#open();
    } catch {
      this.#drop();
    }
  }

  handle(request: Exclude<WriterRequest, { kind: "close" }>): void {
    const { runId } = request;
    const run = this.#runs.get(runId) ?? { calls: [], pendingChars: 0 };
    this.#runs.set(runId, run);
    switch (request.kind) {
      case "calls":
        this.#take(runId, run, request.calls);
        this.#reply({ kind: "taken", runId });
        return;
      case "finish":
        run.calls.push(...request.calls);
        this.#reply({ kind: "settled", runId, result: this.#store(run, request) });
        this.#runs.delete(runId);
        return;
      case "discard":
        this.#release(runId, run);
        this.#runs.delete(runId);
        return;
    }
  }

  /** What can wait until nobody does. */
  tidy(): void {
    if (this.#db === undefined) return;
    const nowMs = Date.now();
    try {
      sweepAbandoned(this.#db, nowMs);
      pruneDaily(this.#db, this.#options.keepDays, nowMs);
    } catch {
      // Tried again by the next ptc; a run that this stands in the way of will say so.
      this.#drop();
    }
  }

  close(): void {
    this.#drop();
  }

  #take(runId: string, run: OpenRun, calls: PendingCall[]): void {
    if (run.failure !== undefined) return;
    run.calls.push(...calls);
    run.pendingChars += calls.reduce((sum, call) => sum + ("held" in call ? 0 : textChars(call)), 0);
    if (run.pendingChars <= MAX_PENDING_CHARS) return;
    try {
      run.calls = holdCalls(this.#open(), runId, run.calls, Date.now());
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
        return { ok: true, recordDigest: storeRun(this.#open(), request.run, run.calls) };
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
      // It is swept when it is a day old.
      this.#drop();
    }
  }

  #open(): Database {
    this.#db ??= openForWriting(this.#options.path);
    return this.#db;
  }

  #fail(error: unknown): string {
    this.#drop();
    if (error instanceof ArchiveError) return error.message;
    return `the run could not be archived: ${error instanceof Error ? error.message : String(error)}`;
  }

  #drop(): void {
    try {
      this.#db?.close();
    } catch {
      // Whatever is wrong with the connection, a new one is made.
    }
    this.#db = undefined;
  }
}

function textChars({ argumentsJson, outcomeJson }: { argumentsJson: string; outcomeJson: string }): number {
  return argumentsJson.length + outcomeJson.length;
}
