import type { Clock } from "../../../base/clock.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";

/** Sends the progress of a run to the client. */
export interface ProgressSink {
  /**
   * @param progress how many calls the program has begun; higher with every message
   * @param message one line that names the last of them
   */
  report(progress: number, message: string): void;
}

const MIN_INTERVAL_MS = 100;
const MAX_TOOL_CHARS = 300;

/**
 * Reports the progress of a run, at most ten times a second; calls in between are skipped. The sink is replaced when
 * another request of the client waits for the run.
 */
export class RunProgress {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #sink: ProgressSink | undefined;
  #newest: { count: number; tool: string } | undefined;
  #sentCount = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Reports to this sink from now on, first the newest call if it was not reported. `undefined` reports to nobody. */
  attach(sink: ProgressSink | undefined): void {
    this.#sink = sink;
    if (this.#timer === undefined) this.#send();
  }

  /** @param count how many calls the program has begun, this one included */
  onCallStarted(count: number, tool: string): void {
    this.#newest = { count, tool };
    if (this.#timer !== undefined) return;
    const waitMs = this.#sentAt + MIN_INTERVAL_MS - this.#clock.monotonicMs();
    if (waitMs <= 0) this.#send();
    else this.#timer = setTimeout(() => this.#send(), waitMs);
  }

  /** Ends all reports. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sink = undefined;
  }

  #send(): void {
    this.#timer = undefined;
    if (this.#sink === undefined || this.#newest === undefined) return;
    if (this.#newest.count <= this.#sentCount) return;
    const { count, tool } = this.#newest;
    this.#sentCount = count;
    this.#sentAt = this.#clock.monotonicMs();
    this.#sink.report(count, `call ${count}: ${oneLine(tool, MAX_TOOL_CHARS)}`);
  }
}

/**
 * Tells the client how many programs are before its own. Progress must grow with every message and must stay below that of
 * the first call, which is 1.
 */
export function reportPosition(progress: ProgressSink | undefined): (before: number) => void {
  let messages = 0;
  return (before) => {
    progress?.report(
      messages / (messages + 1),
      `waits for its turn, ${countNoun(before, "program")} before it`,
    );
    messages++;
  };
}
