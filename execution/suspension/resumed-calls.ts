import type { CallInterceptor } from "../../broker/call-interceptors.ts";
import type { RequestedCall } from "../../broker/dispatcher.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import type { KeptCall } from "./kept-calls.ts";
import type { ResumedRun } from "./suspended-run.ts";

/**
 * The calls of a run that begins again, such as a resumed one: first the kept calls in their order, each with its kept answer, and then live calls. No call goes out
 * before the program has made every kept call again, so that a program that diverges has called nothing.
 */
export class ResumedCalls {
  readonly #kept: readonly KeptCall[];
  readonly #goLive: () => Promise<string | undefined>;
  readonly #onStop: () => void;
  readonly #since: string;
  readonly #madeAgain: Promise<void>;
  #allMade = () => {};
  #made = 0;
  #going: Promise<string | undefined> | undefined;
  #stopped: string | undefined;

  /**
   * @param onStop called when the run cannot continue. Nothing is answered after that.
   * @param since what has happened to the run, phrased to follow "before".
   */
  constructor(
    { run, goLive }: { run: Pick<ResumedRun["run"], "calls">; goLive: ResumedRun["goLive"] },
    onStop: () => void,
    since = "it was suspended",
  ) {
    this.#since = since;
    this.#kept = run.calls;
    this.#goLive = goLive;
    this.#onStop = onStop;
    this.#madeAgain = new Promise((resolve) => {
      this.#allMade = resolve;
    });
  }

  /** Why the run cannot continue; `undefined` if it can. */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  /** Whether a live call may have gone out. */
  get isLive(): boolean {
    return this.#going !== undefined;
  }

  /** A message about the first call that the program did not make again; `undefined` when it made every kept call. */
  get missing(): string | undefined {
    const next = this.#kept[this.#made];
    if (next === undefined) return undefined;
    return `the program did not make call ${this.#made + 1} again: expected ${next.tool}; got no such call`;
  }

  readonly aroundCalls: CallInterceptor = (next) => async (call, run) => {
    const kept = this.#stopped === undefined ? this.#kept[this.#made] : undefined;
    if (kept !== undefined) {
      if (!isSame(kept, call)) this.#stop(describeOther(this.#made, kept, call, this.#since));
      else if (++this.#made === this.#kept.length) this.#allMade();
    }
    if (this.#stopped !== undefined) return aborted(run.signal);
    if (kept?.outcome !== undefined) {
      const { startedMs, durationMs, outcome } = kept;
      return { ...outcome, earlier: { startedMs, durationMs } };
    }
    await Promise.race([this.#madeAgain, aborted(run.signal)]);
    this.#going ??= this.#goLive();
    const why = await this.#going;
    if (why === undefined) return next(call, run);
    this.#stop(why);
    return aborted(run.signal);
  };

  #stop(message: string): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = message;
    this.#onStop();
  }
}

function isSame(kept: KeptCall, { tool, arguments: args, raw = false }: RequestedCall): boolean {
  return kept.tool === tool && kept.raw === raw && kept.argumentsDigest === digestOf(args ?? null);
}

function describeOther(position: number, kept: KeptCall, { tool }: RequestedCall, since: string): string {
  const what = kept.tool === tool ? "other arguments" : tool;
  return `the program made another call ${position + 1} than before ${since}: expected ${kept.tool}; got ${what}`;
}

/** Rejects when the run is over: a call without an answer never gets one. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new Error("the run is over"));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
