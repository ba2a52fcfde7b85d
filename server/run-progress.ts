/** Tells a client how a run is getting on: the call under way and how many there were. */
export interface ProgressSink {
  /** @param progress rises with every message. */
  report(progress: number, message: string): void;
}

const MIN_INTERVAL_MS = 100;

/** Passes on the newest state of a run, at most some ten times a second. The sink changes when the client asks again. */
export class RunProgress {
  readonly #clock: { nowMs(): number };
  #sink: ProgressSink | undefined;
  #newest: { count: number; tool: string } | undefined;
  #sentCount = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: { nowMs(): number }) {
    this.#clock = clock;
  }

  attach(sink: ProgressSink | undefined): void {
    this.#sink = sink;
    if (this.#timer === undefined) this.#send();
  }

  onCallStarted(count: number, tool: string): void {
    this.#newest = { count, tool };
    if (this.#timer !== undefined) return;
    const waitMs = this.#sentAt + MIN_INTERVAL_MS - this.#clock.nowMs();
    if (waitMs <= 0) this.#send();
    else this.#timer = setTimeout(() => this.#send(), waitMs);
  }

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
    this.#sentAt = this.#clock.nowMs();
    this.#sink.report(count, `call ${count}: ${tool}`);
  }
}
