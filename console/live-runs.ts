/**
 * The runs in progress of this process, as their events tell of them. It subscribes only while somebody watches: what began before is
 * known from its next event on.
 */

import type { Owner } from "../broker/policy/authorizer.ts";
import type { MissedEvents, RunEvent, RunListener } from "../execution/runs/run-events.ts";
import type { Sight } from "./sight.ts";

const MAX_RUNS = 200;
const MAX_CALLS = 200;

/** A call of a run in progress. */
interface LiveCall {
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
  /** When it was first heard of, in milliseconds since 1970. */
  readonly startedAt: number;
  /** The newest calls, the oldest first. */
  readonly calls: readonly LiveCall[];
  /** How many calls were heard of. */
  readonly called: number;
  /** The tool or the server that a person is asked about. */
  readonly asked: string | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Kept = Mutable<LiveRun> & { calls: LiveCall[] };

export class LiveRuns {
  readonly #subscribe: (listener: RunListener) => () => void;
  readonly #now: () => number;
  readonly #runs = new Map<string, Kept>();
  readonly #versions = new Map<string, { of: Owner; version: number }>();
  #version = 0;

  constructor(subscribe: (listener: RunListener) => () => void, now: () => number) {
    this.#subscribe = subscribe;
    this.#now = now;
  }

  /** Follows events until the returned function is called. @param onChange called after each. */
  watch(onChange: () => void): () => void {
    const stop = this.#subscribe((event) => {
      this.#take(event);
      onChange();
    });
    return () => {
      stop();
      this.#runs.clear();
      this.#versions.clear();
    };
  }

  /** The runs that a viewer sees, the newest first. */
  async runsFor(sight: Sight): Promise<readonly LiveRun[]> {
    const runs = [...this.#runs.values()].reverse();
    const may = await Promise.all(runs.map(({ owner }) => sight.mayRead(owner)));
    return runs.filter((_, index) => may[index]);
  }

  /** Changes with whatever a viewer sees. */
  async versionFor(sight: Sight): Promise<string> {
    if (sight.seesAll) return String(this.#version);
    const known = [...this.#versions.values()];
    const may = await Promise.all(known.map(({ of }) => sight.mayRead(of)));
    return known.flatMap(({ version }, index) => (may[index] ? [version] : [])).join();
  }

  #take(event: RunEvent | MissedEvents): void {
    if (event.kind === "missed") {
      // Ends may be among them: what goes on is known again from its next event.
      this.#runs.clear();
      this.#version++;
      return;
    }
    const { runId, context } = event;
    this.#version++;
    const of = ownerIn(context);
    const key = JSON.stringify(of);
    this.#versions.set(key, { of, version: (this.#versions.get(key)?.version ?? 0) + 1 });
    if (event.kind === "ended") {
      this.#runs.delete(runId);
      return;
    }
    const run = this.#runs.get(runId) ?? this.#begin(event);
    if (run === undefined) return;
    switch (event.kind) {
      case "call-started":
        run.called++;
        run.calls.push({ seq: event.seq, tool: event.tool, startedAt: this.#now() });
        if (run.calls.length > MAX_CALLS) run.calls.shift();
        return;
      case "call-ended": {
        const at = run.calls.findIndex(({ seq }) => seq === event.seq);
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
    }
  }

  #begin({ runId, context }: RunEvent): Kept | undefined {
    if (this.#runs.size >= MAX_RUNS) return undefined;
    const { source, client } = context;
    const run: Kept = {
      ...{ runId, owner: ownerIn(context), source, client: client?.name, startedAt: this.#now() },
      ...{ calls: [], called: 0, asked: undefined },
    };
    this.#runs.set(runId, run);
    return run;
  }
}

function ownerIn({ principal, groups }: Owner): Owner {
  return { principal, ...(groups === undefined ? {} : { groups }) };
}
