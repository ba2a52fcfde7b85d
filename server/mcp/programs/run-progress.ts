import type { Clock } from "../../../base/clock.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";

/** How far the server of a single call says that it has come (MCP 2025-11-25, "Progress"). */
export interface CallProgress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

/** Sends the progress of a run to the client. */
export interface ProgressSink {
  /**
   * @param progress how many calls the program has begun; higher with every message
   * @param message one line that names the last of them; of a single call, what its server says
   * @param total of a single call, as its server says
   */
  report(progress: number, message: string | undefined, total?: number): void;
}

const MIN_INTERVAL_MS = 100;
const MAX_TOOL_CHARS = 300;
const MAX_MESSAGE_CHARS = 1_000;

/**
 * Reports the progress of a run, at most ten times a second; calls in between are skipped. The sink is replaced when
 * another request of the client waits for the run.
 */
export class RunProgress {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #sink: ProgressSink | undefined;
  #newest: CallProgress | undefined;
  #sent = 0;
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
    this.#note({ progress: count, message: `call ${count}: ${oneLine(tool, MAX_TOOL_CHARS)}` });
  }

  /** Passes on what the server of a single call says. Its progress takes the place of a count of calls. */
  onReport({ message, ...numbers }: CallProgress): void {
    this.#note({
      ...numbers,
      message: message === undefined ? undefined : oneLine(message, MAX_MESSAGE_CHARS),
    });
  }

  #note(newest: CallProgress): void {
    this.#newest = newest;
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
    const { progress, message, total } = this.#newest;
    if (progress <= this.#sent) return;
    this.#sent = progress;
    this.#sentAt = this.#clock.monotonicMs();
    this.#sink.report(progress, message, total);
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
