import { setTimeout as delay } from "node:timers/promises";
import { outsideBoundaries } from "../../base/faults.ts";
import type { MissedEvents, RunEvent, RunListener } from "./run-events.ts";

/** How long events are gathered before a listener gets them, so that a run with many short calls wakes it less often. */
const GATHER_MS = 5;
/** The most events that a listener gets in one turn of the event loop. */
const MAX_AT_ONCE = 100;

/** The most events that wait for a listener that is still busy with an earlier one. */
const MAX_BEHIND = 1_024;

/** Delivers the events of runs to listeners, to each in order and at its own pace. */
export class RunFeed {
  readonly #subscriptions = new Map<Subscription, string | undefined>();

  /**
   * @param runId limits the subscription to this run, until it ends. By default the events of all runs are delivered.
   * @returns a function that ends the subscription. Events that already wait are still delivered.
   */
  subscribe(listener: RunListener, runId?: string): () => void {
    const subscription = new Subscription(listener);
    this.#subscriptions.set(subscription, runId);
    return () => void this.#subscriptions.delete(subscription);
  }

  /** Queues an event for its listeners and returns at once. */
  publish(event: RunEvent): void {
    for (const [subscription, runId] of this.#subscriptions) {
      if (runId !== undefined && runId !== event.runId) continue;
      subscription.push(event);
      if (runId !== undefined && event.kind === "ended") this.#subscriptions.delete(subscription);
    }
  }
}

/** The events that wait for one listener. */
class Subscription {
  readonly #listener: RunListener;
  readonly #waiting: (RunEvent | MissedEvents)[] = [];
  #missed = 0;
  #isTelling = false;

  constructor(listener: RunListener) {
    this.#listener = listener;
  }

  push(event: RunEvent): void {
    if (this.#waiting.length >= MAX_BEHIND) {
      this.#missed++;
      return;
    }
    this.#noteMissed();
    this.#waiting.push(event);
    if (this.#isTelling) return;
    this.#isTelling = true;
    // A fault in a listener must not end the run that the event is about.
    void outsideBoundaries(() => this.#tell());
  }

  async #tell(): Promise<void> {
    while (this.#waiting.length > 0) {
      await delay(GATHER_MS);
      for (const event of this.#waiting.splice(0, MAX_AT_ONCE)) {
        try {
          await this.#listener(event);
        } catch {
          // The event counts as delivered. The listener's failure is dropped.
        }
      }
      if (this.#waiting.length === 0) this.#noteMissed();
    }
    this.#isTelling = false;
  }

  #noteMissed(): void {
    if (this.#missed === 0) return;
    this.#waiting.push({ kind: "missed", count: this.#missed });
    this.#missed = 0;
  }
}
