import { doublingPause } from "../../../base/backoff.ts";
import { messageOf } from "../../../base/faults.ts";
import { settlesWithin } from "../../../base/waiting.ts";
import type { AuditSink } from "../audit-log.ts";

/** Carries lines to another place. */
export interface Carrier {
  /** Where lines go, for messages. */
  readonly place: string;
  /** The most lines to deliver at a time. */
  readonly batch: number;
  /** Resolves when the lines are delivered. @throws Error when they are not; the caller may try again. */
  deliver(lines: readonly string[]): Promise<void>;
  /** Closes what is open. Never throws. */
  end(): void;
}

const MAX_WAITING = 20_000;
const PAUSES = { firstMs: 500, longestMs: 30_000 };
/** How long ptc, while it ends, waits for a destination that does not accept lines. */
const LAST_PATIENCE_MS = 3_000;

/** Sends lines in batches, one after the other. Keeps them, up to a bound, while their destination cannot be reached. */
export class QueuedSink implements AuditSink {
  readonly #carrier: Carrier;
  readonly #onFailure: (message: string) => void;
  #waiting: string[] = [];
  #dropped = 0;
  #failures = 0;
  #sending: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #isClosing = false;

  constructor(carrier: Carrier, onFailure: (message: string) => void) {
    this.#carrier = carrier;
    this.#onFailure = onFailure;
  }

  send(lines: readonly string[]): void {
    this.#waiting.push(...lines);
    const excess = Math.max(0, this.#waiting.length - MAX_WAITING);
    if (excess > 0) {
      this.#waiting.splice(0, excess);
      this.#dropped += excess;
    }
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#wake?.();
    if (this.#sending !== undefined) await settlesWithin(this.#sending, LAST_PATIENCE_MS);
    const unsent = this.#waiting.length + this.#dropped;
    this.#waiting = [];
    this.#wake?.();
    if (unsent > 0)
      this.#onFailure(
        `${unsent} lines of the audit log did not reach ${this.#carrier.place}; the file has them`,
      );
    this.#carrier.end();
  }

  async #sendAll(): Promise<void> {
    // Lines that were written together are sent together.
    await null;
    let tries = 0;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, this.#carrier.batch);
      const dropped = this.#dropped;
      try {
        await this.#carrier.deliver(batch);
        // Lines that were dropped meanwhile were the oldest ones, which are part of the batch.
        this.#waiting.splice(0, Math.max(0, batch.length - (this.#dropped - dropped)));
        this.#failures = 0;
      } catch (error) {
        this.#tell(error);
        if (this.#isClosing && ++tries > 1) return;
        await this.#pause();
      }
    }
  }

  #tell(error: unknown): void {
    if (this.#failures++ > 0) return;
    const { place } = this.#carrier;
    this.#onFailure(
      `the audit log cannot be sent to ${place}: ${messageOf(error)}; its file is complete, and ptc sends the missing lines as soon as it can`,
    );
  }

  async #pause(): Promise<void> {
    if (this.#isClosing) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, doublingPause(PAUSES, this.#failures - 1));
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
