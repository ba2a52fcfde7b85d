import { setTimeout as delay } from "node:timers/promises";
import { outsideBoundaries } from "../../base/faults.ts";
import type { MissedEvents, RunEvent, RunListener, RunView, RunWatcher } from "./run-events.ts";

/** How long events are gathered before a listener gets them, so that a run with many short calls wakes it less often. */
const GATHER_MS = 5;
/** The most events that a listener gets in one turn of the event loop. */
const MAX_AT_ONCE = 100;

/** The most events that wait for a listener that is still busy with an earlier one. */
const MAX_BEHIND = 1_024;

/** The most characters of console text that wait as one event. Of more, the newest are kept. */
const MAX_TEXT_CHARS = 64 * 1024;

/** The most runs in progress that a later watcher hears of. */
const MAX_GOING = 1_000;

type Began = RunView & { readonly kind: "began" };

/** Delivers the events of runs to listeners, to each in order and at its own pace. */
export class RunFeed {
  readonly #subscriptions = new Map<Subscription, string | undefined>();
  readonly #watchers = new Set<Subscription>();
  readonly #going = new Map<string, Began>();

  /**
   * @param runId limits the subscription to this run, until it ends. By default the events of all runs are delivered.
   * @returns a function that ends the subscription. Events that already wait are still delivered.
   */
  subscribe(listener: RunListener, runId?: string): () => void {
    const subscription = new Subscription((event) =>
      event.kind === "began" || event.kind === "printed" ? undefined : listener(event),
    );
    this.#subscriptions.set(subscription, runId);
    return () => void this.#subscriptions.delete(subscription);
  }

  /**
   * Delivers the events of all runs with their views, first that each run in progress has begun.
   *
   * @returns a function that ends it. Events that already wait are still delivered.
   */
  watch(watcher: RunWatcher): () => void {
    const subscription = new Subscription(watcher);
    this.#watchers.add(subscription);
    for (const began of this.#going.values()) subscription.push(began);
    return () => void this.#watchers.delete(subscription);
  }

  /** Queues an event for its listeners and returns at once. */
  publish(event: RunEvent | RunView): void {
    for (const watcher of this.#watchers) watcher.push(event);
    if (event.kind === "printed") return;
    if (event.kind === "began") {
      this.#going.set(event.runId, event);
      const oldest = this.#going.keys().next().value;
      if (this.#going.size > MAX_GOING && oldest !== undefined) this.#going.delete(oldest);
      return;
    }
    if (event.kind === "ended") this.#going.delete(event.runId);
    for (const [subscription, runId] of this.#subscriptions) {
      if (runId !== undefined && runId !== event.runId) continue;
      subscription.push(event);
      if (runId !== undefined && event.kind === "ended") this.#subscriptions.delete(subscription);
    }
  }
}

/** The events that wait for one listener. */
class Subscription {
  readonly #listener: RunWatcher;
  readonly #waiting: (RunEvent | RunView | MissedEvents)[] = [];
  #missed = 0;
  #isTelling = false;

  constructor(listener: RunWatcher) {
    this.#listener = listener;
  }

  push(event: RunEvent | RunView): void {
    const last = this.#waiting.at(-1);
    if (event.kind === "printed" && last?.kind === "printed" && isOfSameText(last, event)) {
      const text = (last.text + event.text).slice(-MAX_TEXT_CHARS);
      this.#waiting[this.#waiting.length - 1] = { ...last, text };
      return;
    }
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

type Printed = RunView & { readonly kind: "printed" };

function isOfSameText(a: Printed, b: Printed): boolean {
  return a.runId === b.runId && a.stream === b.stream;
}
