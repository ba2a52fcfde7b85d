/**
 * The runs in progress of this process, from the feed of its host, and those that have just ended, until they are archived.
 * It follows the feed only while somebody watches, and a moment longer. It knows how each run began, and the calls and console text since it began to follow.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Owner } from "../broker/policy/authorizer.ts";
import type { RunEvent, RunView, RunWatcher } from "../execution/runs/run-events.ts";
import { identityOf } from "../protocol/run-context.ts";
import type { Sight } from "./sight.ts";

const MAX_RUNS = 200;
/** The most calls of one run that are kept, the newest. */
const MAX_LIVE_CALLS = 500;
/** The most characters of console text of one run that are kept, the newest. */
const MAX_PRINTED_CHARS = 32 * 1024;
const MAX_ENDED = 50;
/** How long it follows the feed after the last viewer has left. */
const LINGER_MS = 15_000;
/** Longer than the feed gathers events before it delivers them. */
const FIRST_MS = 30;

/** A call of a run in progress. */
export interface LiveCall {
  readonly seq: number;
  readonly tool: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly durationMs?: number;
  /** The type of its failure. */
  readonly failure?: string;
}

export interface LiveRun {
  readonly runId: string;
  readonly owner: Owner;
  readonly source: string;
  readonly client: string | undefined;
  /** When it began or was first heard of, in milliseconds since 1970. */
  readonly startedAt: number;
  /** What runs; `undefined` if only later events were received. */
  readonly program: (RunView & { kind: "began" })["program"] | undefined;
  /** The newest calls, the oldest first. */
  readonly calls: readonly LiveCall[];
  /** How many calls were reported. */
  readonly called: number;
  /** The newest console text, of both streams in their order. */
  readonly printed: string;
  /** How many earlier characters were dropped. */
  readonly printedBefore: number;
  /** The tool or the server that a person is asked about. */
  readonly asked: string | undefined;
  /** How it ended; `undefined` while it goes on. */
  readonly ended: { readonly outcome: string; readonly durationMs: number } | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Kept = Mutable<LiveRun> & { calls: LiveCall[]; version: number };

export class LiveRuns {
  readonly #follow: (watcher: RunWatcher) => () => void;
  readonly #now: () => number;
  readonly #runs = new Map<string, Kept>();
  /** The newest last. */
  readonly #ended = new Map<string, Kept>();
  readonly #versions = new Map<string, { of: Owner; version: number }>();
  /** Who has seen which run, because the audit log notes that once. */
  readonly #noted = new Set<string>();
  #version = 0;
  readonly #listeners = new Set<() => void>();
  #stop: (() => void) | undefined;
  #leaving: NodeJS.Timeout | undefined;

  constructor(follow: (watcher: RunWatcher) => () => void, now: () => number) {
    this.#follow = follow;
    this.#now = now;
  }

  /** Follows the feed until the returned function is called, and a while longer. @param onChange called after each event. */
  watch(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    this.#start();
    return () => {
      this.#listeners.delete(onChange);
      this.#leaveSoon();
    };
  }

  /** Follows the feed for a while for somebody who opens a page. Resolves when the runs in progress are known. */
  async look(): Promise<void> {
    const isFirst = this.#stop === undefined;
    this.#start();
    this.#leaveSoon();
    if (isFirst) await delay(FIRST_MS);
  }

  close(): void {
    clearTimeout(this.#leaving);
    this.#stop?.();
    this.#stop = undefined;
    for (const known of [this.#runs, this.#ended, this.#versions, this.#noted]) known.clear();
  }

  #start(): void {
    this.#stop ??= this.#follow((event) => {
      if (event.kind === "missed") {
        // These events may include ends of runs. The feed reports runs in progress again.
        this.#stop?.();
        this.#stop = undefined;
        this.#runs.clear();
        this.#version++;
        this.#start();
      } else this.#take(event);
      for (const onChange of this.#listeners) onChange();
    });
  }

  /** Between two pages, nobody watches for a moment. */
  #leaveSoon(): void {
    clearTimeout(this.#leaving);
    this.#leaving = setTimeout(() => {
      if (this.#listeners.size === 0) this.close();
    }, LINGER_MS).unref();
  }

  /** The runs that a viewer sees, the newest first. */
  async runsFor(sight: Sight): Promise<readonly LiveRun[]> {
    const runs = [...this.#runs.values()].reverse();
    const may = await Promise.all(runs.map(({ owner }) => sight.mayRead(owner)));
    return runs.filter((_, index) => may[index]);
  }

  /** A run that a viewer sees and that is in progress or has just ended. The audit log notes once that they saw it. */
  async runFor(sight: Sight, runId: string): Promise<LiveRun | undefined> {
    const run = this.#find(runId);
    if (run === undefined) return undefined;
    const noted = JSON.stringify([sight.viewer.principal, runId]);
    if (!(await sight.mayRead(run.owner, this.#noted.has(noted) ? undefined : runId))) return undefined;
    this.#noted.add(noted);
    return run;
  }

  /** Changes with whatever a viewer sees. @param runId limits it to one run. */
  async versionFor(sight: Sight, runId?: string): Promise<string> {
    if (runId !== undefined) {
      const run = this.#find(runId);
      return run !== undefined && (await sight.mayRead(run.owner)) ? String(run.version) : "";
    }
    if (sight.seesAll) return String(this.#version);
    const known = [...this.#versions.values()];
    const may = await Promise.all(known.map(({ of }) => sight.mayRead(of)));
    return known.flatMap(({ version }, index) => (may[index] ? [version] : [])).join();
  }

  #find(runId: string): Kept | undefined {
    return this.#runs.get(runId) ?? this.#ended.get(runId);
  }

  #take(event: RunEvent | RunView): void {
    const { runId, context } = event;
    this.#version++;
    const of = identityOf(context);
    const key = JSON.stringify(of);
    this.#versions.set(key, { of, version: (this.#versions.get(key)?.version ?? 0) + 1 });
    const run = this.#runs.get(runId) ?? (event.kind === "ended" ? undefined : this.#begin(event));
    if (run === undefined) return;
    run.version++;
    switch (event.kind) {
      case "began":
        run.startedAt = event.at;
        run.program = event.program;
        return;
      case "printed": {
        const printed = run.printed + event.text;
        run.printed = wholeCharacters(printed.slice(-MAX_PRINTED_CHARS));
        run.printedBefore += printed.length - run.printed.length;
        return;
      }
      case "call-started":
        run.called++;
        run.calls.push({ seq: event.seq, tool: event.tool, startedAt: this.#now() });
        if (run.calls.length > MAX_LIVE_CALLS) run.calls.shift();
        return;
      case "call-ended": {
        const at = run.calls.findLastIndex(({ seq }) => seq === event.seq);
        const call = run.calls[at];
        if (call === undefined) return;
        const { durationMs, failure } = event;
        run.calls[at] = { ...call, durationMs, ...(failure === undefined ? {} : { failure }) };
        return;
      }
      case "question-asked":
        run.asked = event.tool;
        return;
      case "elicitation-asked":
        run.asked = event.server;
        return;
      case "question-answered":
      case "elicitation-answered":
        run.asked = undefined;
        return;
      case "ended": {
        this.#runs.delete(runId);
        const { outcome, durationMs } = event;
        this.#ended.set(runId, { ...run, asked: undefined, ended: { outcome, durationMs } });
        const oldest = this.#ended.keys().next().value;
        if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest);
      }
    }
  }

  #begin({ runId, context }: RunEvent | RunView): Kept | undefined {
    if (this.#runs.size >= MAX_RUNS) return undefined;
    // A suspended run continues under its id.
    this.#ended.delete(runId);
    const { source, client } = context;
    const run: Kept = {
      runId,
      owner: identityOf(context),
      source,
      client: client?.name,
      startedAt: this.#now(),
      program: undefined,
      calls: [],
      called: 0,
      printed: "",
      printedBefore: 0,
      asked: undefined,
      ended: undefined,
      version: 0,
    };
    this.#runs.set(runId, run);
    return run;
  }
}

/** Removes the second half of a character that was cut. */
function wholeCharacters(text: string): string {
  return /^[\udc00-\udfff]/.test(text) ? text.slice(1) : text;
}
