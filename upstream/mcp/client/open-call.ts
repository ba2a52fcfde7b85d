import { orAborted } from "../../../base/or-aborted.ts";
import { parseProgress } from "../../progress-report.ts";
import type { QuestionAnswer, UpstreamCallOptions } from "../../upstream.ts";
import type { UpstreamError } from "../../upstream-error.ts";
import { CallTime } from "./call-time.ts";

/** Nobody is there for the questions of this call. */
const NOBODY: QuestionAnswer = {
  kind: "unasked",
  reason: "asks for something that a person has to answer, and nobody can be asked here",
};

/** The reason of a signal that nobody is to act on. One for all, because making one takes longer than the rest of the end. */
const OVER = new Error("the call is over");

/** A call that was sent and is not answered: its time, the questions of its server, and why it was called off. */
export class OpenCall {
  readonly time: CallTime;
  readonly #ask: UpstreamCallOptions["ask"];
  readonly #onProgress: UpstreamCallOptions["onProgress"];
  readonly #caller: AbortSignal;
  readonly #stop = new AbortController();
  readonly #onAbort = () => this.#stop.abort();
  readonly #awaited = new Map<string, () => void>();
  /** What was done elsewhere before anybody waited for it. */
  readonly #completed = new Set<string>();
  #isLate = false;
  /** Whether anybody may still wait who is to be told of the end. */
  #isWaitedFor = false;
  #failure: UpstreamError | undefined;

  constructor({ timeoutMs, spentMs = 0, signal, ask, onProgress }: UpstreamCallOptions) {
    this.#ask = ask;
    this.#onProgress = onProgress;
    this.#caller = signal;
    if (signal.aborted) this.#stop.abort();
    signal.addEventListener("abort", this.#onAbort);
    this.time = new CallTime(timeoutMs, timeoutMs - spentMs, () => {
      this.#isLate = true;
      this.#stop.abort();
    });
  }

  /** The server has reported progress. @param params as it did. */
  progress(params: unknown): void {
    this.time.progress();
    const report = this.#onProgress && parseProgress(params);
    if (report !== undefined && !this.#stop.signal.aborted) this.#onProgress?.(report);
  }

  /** Aborts when the call is over or called off. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Whether the call was called off because its time was up. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** Why the call was called off, if it was for a reason of ours. */
  get failure(): UpstreamError | undefined {
    return this.#failure;
  }

  /** Calls the call off. */
  fail(failure: UpstreamError): void {
    this.#failure ??= failure;
    this.#stop.abort();
  }

  /** Puts a question to a person, while the time of the call stands still. */
  async ask(params: unknown, isCertain: boolean, signal?: AbortSignal): Promise<QuestionAnswer> {
    if (this.#ask === undefined) return NOBODY;
    this.#isWaitedFor = true;
    const withdrawn = signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal]);
    this.time.pause();
    try {
      return await orAborted(
        this.#ask({ params, isCertain }, withdrawn),
        withdrawn,
        () => new Error("the question was withdrawn"),
      );
    } finally {
      this.time.resume();
    }
  }

  /** What a person was sent to do elsewhere is done. */
  complete(elicitationId: string): void {
    this.#completed.add(elicitationId);
    this.#awaited.get(elicitationId)?.();
  }

  /** Waits until what a person was sent to do elsewhere is done. Rejects when the call is over before that. */
  async completion(elicitationId: string): Promise<void> {
    if (this.#completed.has(elicitationId)) return;
    this.#isWaitedFor = true;
    const done = new Promise<void>((resolve) => this.#awaited.set(elicitationId, resolve));
    await orAborted(done, this.#stop.signal, () => OVER);
  }

  /** The call is over: its questions are withdrawn. */
  end(): void {
    this.time.end();
    this.#caller.removeEventListener("abort", this.#onAbort);
    // To abort takes longer than all else of the end, and few calls have anybody wait.
    if (this.#isWaitedFor) this.#stop.abort(OVER);
  }
}
