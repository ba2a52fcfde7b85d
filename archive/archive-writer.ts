import { Worker } from "node:worker_threads";
import type { HandedCall, HandedRun } from "./handed-run.ts";
import type { ArchiveResult, WriterOptions, WriterReply, WriterRequest } from "./writer-messages.ts";

/** Texts of calls are sent together until they are this long: a message costs more than a few small calls. */
const BATCH_CHARS = 64 * 1024;

/** Texts on their way to the writing thread; with more, a run should wait. */
const MAX_CHARS_UNDER_WAY = 64 * 1024 * 1024;

/** One run on its way into the archive. */
export interface RunRecording {
  /**
   * Hands over a call that is complete. Resolves when there is room for more: awaiting it bounds the memory of a run
   * whose results are larger than the disk is fast. Never rejects.
   */
  addCall(call: HandedCall): Promise<void>;
  /** Archives the run, whole or not at all. Never rejects: what stood in the way is one line, for the person. */
  finish(run: HandedRun): Promise<ArchiveResult>;
  /** The run is not to be archived. */
  discard(): void;
}

const ROOM = Promise.resolve();
const STOPPED = "the archive's writer stopped: the run was not archived";

/**
 * Archives runs from a thread of its own. Whatever is wrong with the archive, a run only learns of it when it is over;
 * the next run tries again.
 */
export class ArchiveWriter {
  readonly #options: WriterOptions;
  readonly #workerModule: URL;
  #thread: WritingThread | undefined;

  /** @param workerModule where `writer-worker` is: beside this file, unless this file was bundled elsewhere. */
  constructor(options: WriterOptions, workerModule = new URL("./writer-worker.ts", import.meta.url)) {
    this.#options = options;
    this.#workerModule = workerModule;
  }

  begin(runId: string): RunRecording {
    if (this.#thread === undefined || this.#thread.stopped) {
      this.#thread = new WritingThread(this.#workerModule, this.#options);
    }
    return new ThreadRecording(runId, this.#thread);
  }

  /** Resolves when every run that was finished is archived, or is known to have failed. Others are not archived. */
  async close(): Promise<void> {
    await this.#thread?.close();
    this.#thread = undefined;
  }
}

class WritingThread {
  #worker: Worker | undefined;
  #exited: Promise<void> = ROOM;
  readonly #settle = new Map<string, (result: ArchiveResult) => void>();
  /** Sizes of the batches that were sent and not yet taken, in order, of all runs. */
  readonly #underWay: number[] = [];
  #charsUnderWay = 0;
  #room: { promise: Promise<void>; resolve: () => void } | undefined;
  #closing = false;
  stopped = false;

  constructor(module: URL, options: WriterOptions) {
    try {
      this.#worker = this.#start(new Worker(module, { workerData: options }));
    } catch {
      this.stopped = true;
    }
  }

  sendCalls(runId: string, calls: HandedCall[], chars: number): void {
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

  finish(request: Extract<WriterRequest, { kind: "finish" }>): Promise<ArchiveResult> {
    return new Promise((resolve) => {
      this.#settle.set(request.runId, resolve);
      this.#worker?.ref();
      if (!this.#send(request)) this.#settled(request.runId, { ok: false, message: STOPPED });
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
    // An idle thread keeps no process alive; one that has a run to settle does.
    worker.unref();
    worker.on("message", (reply: WriterReply) => this.#receive(reply));
    worker.on("error", () => {});
    this.#exited = new Promise((resolve) => {
      worker.on("exit", () => {
        this.#stop();
        resolve();
      });
    });
    return worker;
  }

  /** `false` when it cannot be sent: the thread is gone, or the message holds what no thread can be sent. */
  #send(request: WriterRequest): boolean {
    if (this.stopped) return false;
    try {
      this.#worker?.postMessage(request);
      return true;
    } catch {
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

  #settled(runId: string, result: ArchiveResult): void {
    const settle = this.#settle.get(runId);
    this.#settle.delete(runId);
    // Whoever closes waits for the thread to end, which would be for ever if nothing else kept the process alive.
    if (this.#settle.size === 0 && !this.#closing) this.#worker?.unref();
    settle?.(result);
  }

  #stop(): void {
    this.stopped = true;
    this.#charsUnderWay = 0;
    this.#makeRoom();
    for (const runId of [...this.#settle.keys()]) this.#settled(runId, { ok: false, message: STOPPED });
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}

class ThreadRecording implements RunRecording {
  readonly #runId: string;
  readonly #thread: WritingThread;
  #batch: HandedCall[] = [];
  #batchChars = 0;
  #callCount = 0;

  constructor(runId: string, thread: WritingThread) {
    this.#runId = runId;
    this.#thread = thread;
  }

  addCall(call: HandedCall): Promise<void> {
    this.#callCount++;
    this.#batch.push(call);
    this.#batchChars += call.argumentsJson.length + call.outcomeJson.length;
    if (this.#batchChars < BATCH_CHARS) return ROOM;
    this.#thread.sendCalls(this.#runId, this.#batch, this.#batchChars);
    this.#batch = [];
    this.#batchChars = 0;
    return this.#thread.room;
  }

  finish(run: HandedRun): Promise<ArchiveResult> {
    const request = { runId: this.#runId, run, calls: this.#batch, callCount: this.#callCount };
    return this.#thread.finish({ kind: "finish", ...request });
  }

  discard(): void {
    this.#thread.discard(this.#runId);
  }
}
