import { Worker } from "node:worker_threads";
import { messageOf } from "../../base/faults.ts";
import type { ArchiveResult, PendingRun, RunArchiver } from "../archive-store.ts";
import type { CallToArchive, RunToArchive } from "../build-record.ts";

/** Calls are sent once their texts have this many characters, because a message costs more than a few small calls. */
const BATCH_CHARS = 16 * 1024;

/** The most characters on their way to the writing thread. Above this, runs wait until it has taken some. */
const MAX_CHARS_UNDER_WAY = 64 * 1024 * 1024;

/** The most characters of one run's sent calls that are kept, to send again if the thread stops. */
const MAX_KEPT_CHARS = 8 * 1024 * 1024;

const ROOM = Promise.resolve();

/** Requests to the writing thread, in order. */
export type WriterRequest =
  | { kind: "calls"; runId: string; calls: CallToArchive[] }
  /** `calls` are the last calls, and `callCount` is the number of all calls. */
  | { kind: "finish"; runId: string; run: RunToArchive; calls: CallToArchive[]; callCount: number }
  | { kind: "discard"; runId: string }
  | { kind: "close" };

export type WriterReply =
  /** The calls of one `calls` request have been taken, so there is room for more. */
  { kind: "taken"; runId: string } | { kind: "settled"; runId: string; result: ArchiveResult };

type FinishRequest = Extract<WriterRequest, { kind: "finish" }>;

/**
 * Archives runs in a separate thread, whose module each store provides. Reports a failure only at the end of a run. The next run
 * tries again.
 */
export class ArchiveWriter implements RunArchiver {
  readonly #options: object;
  readonly #workerModule: URL;
  #thread: WritingThread | undefined;
  readonly #finishing = new Set<Promise<ArchiveResult>>();

  /**
   * @param options the data that the thread starts with.
   * @param workerModule the module of the thread.
   */
  constructor(options: object, workerModule: URL) {
    this.#options = options;
    this.#workerModule = workerModule;
  }

  begin(runId: string): PendingRun {
    return new ThreadRecording(runId, this.#currentThread(), (finish) => this.#watch(finish));
  }

  async close(): Promise<void> {
    do {
      const thread = this.#thread;
      this.#thread = undefined;
      await thread?.close();
      await Promise.all(this.#finishing);
    } while (this.#thread !== undefined);
  }

  #currentThread(): WritingThread {
    if (this.#thread === undefined || this.#thread.stopped) {
      this.#thread = new WritingThread(this.#workerModule, this.#options);
    }
    return this.#thread;
  }

  /** Tracks `finish`, so that closing waits for it. It may use a second thread if the first has stopped. */
  #watch(finish: Parameters<Watch>[0]): Promise<ArchiveResult> {
    const result = finish(() => this.#currentThread());
    this.#finishing.add(result);
    void result.then(() => this.#finishing.delete(result));
    return result;
  }
}

/** A thread's answer about a run, or why the thread stopped without one. The reason may be unknown and empty. */
type ThreadAnswer = ArchiveResult | { stopped: string };

class WritingThread {
  #worker: Worker | undefined;
  #exited: Promise<void> = ROOM;
  readonly #settle = new Map<string, (answer: ThreadAnswer) => void>();
  /** Why it stopped. */
  #reason = "";
  /** Sizes of the batches of all runs that were sent and not yet taken, in order. */
  readonly #underWay: number[] = [];
  #charsUnderWay = 0;
  #room: { promise: Promise<void>; resolve: () => void } | undefined;
  #closing = false;
  stopped = false;

  constructor(module: URL, options: object) {
    try {
      this.#worker = this.#start(new Worker(module, { workerData: options }));
    } catch (error) {
      this.#noteReason(error);
      this.stopped = true;
    }
  }

  sendCalls(runId: string, calls: CallToArchive[], chars: number): void {
    if (!this.#send({ kind: "calls", runId, calls })) return;
    this.#underWay.push(chars);
    this.#charsUnderWay += chars;
  }

  get room(): Promise<void> {
    if (this.#charsUnderWay <= MAX_CHARS_UNDER_WAY) return ROOM;
    if (this.#room === undefined) {
      let resolve = () => {};
      const promise = new Promise<void>((settle) => {
        resolve = settle;
      });
      this.#room = { promise, resolve };
    }
    return this.#room.promise;
  }

  finish(request: FinishRequest): Promise<ThreadAnswer> {
    return new Promise((resolve) => {
      this.#settle.set(request.runId, resolve);
      this.#worker?.ref();
      if (!this.#send(request)) this.#settled(request.runId, { stopped: this.#reason });
    });
  }

  discard(runId: string): void {
    this.#send({ kind: "discard", runId });
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#worker?.ref();
    this.#send({ kind: "close" });
    await this.#exited;
  }

  #start(worker: Worker): Worker {
    // An idle thread must not keep the process running. A thread with unfinished runs must.
    worker.unref();
    worker.on("message", (reply: WriterReply) => this.#receive(reply));
    worker.on("error", (error) => this.#noteReason(error));
    // An unreadable message is lost, so the caller that waits for it must get a failure.
    worker.on("messageerror", (error) => {
      this.#noteReason(error);
      void worker.terminate();
    });
    this.#exited = new Promise((resolve) => {
      worker.on("exit", () => {
        this.#stop();
        resolve();
      });
    });
    return worker;
  }

  /** Returns false when the message cannot be sent: the thread has ended, or the message cannot be cloned. */
  #send(request: WriterRequest): boolean {
    if (this.stopped) return false;
    try {
      this.#worker?.postMessage(request);
      return true;
    } catch (error) {
      this.#noteReason(error);
      return false;
    }
  }

  #receive(reply: WriterReply): void {
    if (reply.kind === "settled") {
      this.#settled(reply.runId, reply.result);
    } else {
      this.#charsUnderWay -= this.#underWay.shift() ?? 0;
      if (this.#charsUnderWay <= MAX_CHARS_UNDER_WAY) this.#makeRoom();
    }
  }

  #noteReason(error: unknown): void {
    this.#reason = messageOf(error);
  }

  #settled(runId: string, answer: ThreadAnswer): void {
    const settle = this.#settle.get(runId);
    this.#settle.delete(runId);
    // During `close` the thread must keep the process running, because its end is awaited.
    if (this.#settle.size === 0 && !this.#closing) this.#worker?.unref();
    settle?.(answer);
  }

  #stop(): void {
    this.stopped = true;
    this.#charsUnderWay = 0;
    this.#makeRoom();
    for (const runId of [...this.#settle.keys()]) this.#settled(runId, { stopped: this.#reason });
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}

type Watch = (finish: (another: () => WritingThread) => Promise<ArchiveResult>) => Promise<ArchiveResult>;

class ThreadRecording implements PendingRun {
  readonly #runId: string;
  readonly #thread: WritingThread;
  readonly #watch: Watch;
  /** The calls that were sent, or `undefined` once they are too large to keep. */
  #sent: CallToArchive[] | undefined = [];
  #sentChars = 0;
  #batch: CallToArchive[] = [];
  #batchChars = 0;
  #callCount = 0;

  constructor(runId: string, thread: WritingThread, watch: Watch) {
    this.#runId = runId;
    this.#thread = thread;
    this.#watch = watch;
  }

  addCall(call: CallToArchive): Promise<void> {
    this.#callCount++;
    this.#batch.push(call);
    this.#batchChars += call.argumentsJson.length + call.outcomeJson.length;
    if (this.#batchChars < BATCH_CHARS) return ROOM;
    this.#thread.sendCalls(this.#runId, this.#batch, this.#batchChars);
    this.#keepSent();
    this.#batch = [];
    this.#batchChars = 0;
    return this.#thread.room;
  }

  finish(run: RunToArchive): Promise<ArchiveResult> {
    return this.#watch(async (another) => {
      const request = { kind: "finish", runId: this.#runId, run, callCount: this.#callCount } as const;
      const first = await this.#thread.finish({ ...request, calls: this.#batch });
      if (!("stopped" in first)) return first;
      if (this.#sent === undefined) return unarchived(first.stopped);
      const again = await another().finish({ ...request, calls: [...this.#sent, ...this.#batch] });
      return "stopped" in again ? unarchived(again.stopped || first.stopped) : again;
    });
  }

  discard(): void {
    this.#thread.discard(this.#runId);
  }

  #keepSent(): void {
    this.#sentChars += this.#batchChars;
    this.#sent = this.#sentChars <= MAX_KEPT_CHARS ? this.#sent?.concat(this.#batch) : undefined;
  }
}

function unarchived(reason: string): ArchiveResult {
  const why = reason === "" ? "" : ` (${reason.replaceAll(/\s+/g, " ")})`;
  return { ok: false, message: `the archive's writer stopped${why}: the run was not archived` };
}
