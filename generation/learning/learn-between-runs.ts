import { Worker } from "node:worker_threads";
import { messageOf } from "../../base/faults.ts";
import { writeJson } from "../../base/json.ts";
import { collectLearned, type LearnedTypes } from "../../catalog/learned/learned-types.ts";
import type { StoredCatalog } from "../../catalog/store/stored-catalog.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { MissedEvents, RunEvent } from "../../execution/runs/run-events.ts";
import { compileCacheVariable } from "../../system/compile-cache.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { moduleUrl } from "../../system/package.ts";
import type { LearningTask } from "./learn-types.ts";
import type { LearningAnswer } from "./learn-worker.ts";

/** How long no program must run before learning starts. */
const IDLE_MS = 2_000;

/** How long a thread may learn. The next thread continues from there. */
const BUDGET_MS = 10_000;
const LIMIT_MS = 60_000;

/** What `ptc serve` needs to learn types. */
export interface LearningSurroundings {
  configuration: () => Configuration;
  env: EnvironmentVariables;
  /** The present catalog, with the learned types. */
  stored: () => Promise<StoredCatalog | undefined>;
  /** Prints modules with these types. Never rejects. */
  publish: (types: LearnedTypes) => Promise<void>;
  onWarning: (message: string) => void;
  idleMs?: number;
}

/**
 * Learns types on a separate thread while no program runs. Modules are printed again only when a type has changed, or was observed
 * in at least twice as many calls as they state, because people keep them in version control.
 */
export class LearningBetweenRuns {
  readonly #surroundings: LearningSurroundings;
  readonly #running = new Set<string>();
  #hasNews = false;
  #isLearning = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #worker: Worker | undefined;
  #lastProblem: string | undefined;

  constructor(surroundings: LearningSurroundings) {
    this.#surroundings = surroundings;
  }

  /** Receives the events of runs. */
  onRun(event: RunEvent | MissedEvents): void {
    if (event.kind === "started") this.#running.add(event.runId);
    // The missed events may include ends of runs.
    if (event.kind === "missed") this.#running.clear();
    if (event.kind === "ended") {
      this.#running.delete(event.runId);
      this.#hasNews ||= event.toolCalls > 0 && event.context.source !== "replay";
    }
    this.#schedule();
  }

  /** Ends the thread, even while it learns. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    void this.#worker?.terminate().catch(() => {});
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed || this.#isLearning || !this.#hasNews || this.#running.size > 0) return;
    if (!this.#surroundings.configuration().learn) return;
    this.#timer = setTimeout(() => void this.#learn(), this.#surroundings.idleMs ?? IDLE_MS);
    this.#timer.unref();
  }

  async #learn(): Promise<void> {
    const { configuration, env, stored, publish, onWarning } = this.#surroundings;
    this.#isLearning = true;
    this.#hasNews = false;
    try {
      const { learningTask } = await import("./learn-types.ts");
      const before = await stored();
      const learned = await this.#onThread(await learningTask(configuration(), env, before, BUDGET_MS));
      const published = [...(before?.learned?.values() ?? [])];
      if (!this.#isClosed && isNews(learned, before?.learned))
        await publish(collectLearned([...learned.values(), ...published]));
      this.#lastProblem = undefined;
    } catch (error) {
      const message = `the types of results could not be learned: ${messageOf(error)}`;
      if (!this.#isClosed && message !== this.#lastProblem) onWarning(message);
      this.#lastProblem = message;
    } finally {
      this.#isLearning = false;
      this.#schedule();
    }
  }

  async #onThread(task: LearningTask): Promise<LearnedTypes> {
    const worker = new Worker(moduleUrl("generation/learning/learn-worker"), {
      workerData: task,
      env: compileCacheVariable(),
      execArgv: [],
    });
    this.#worker = worker;
    worker.unref();
    const late = setTimeout(() => void worker.terminate(), LIMIT_MS);
    try {
      const answer = await new Promise<LearningAnswer>((resolve) => {
        worker.once("message", resolve);
        worker.once("error", ({ message }) => resolve({ ok: false, message }));
        worker.once("exit", () => resolve({ ok: false, message: "its thread has ended" }));
      });
      if (!answer.ok) throw new Error(answer.message);
      return collectLearned(answer.types);
    } finally {
      clearTimeout(late);
      this.#worker = undefined;
      void worker.terminate().catch(() => {});
    }
  }
}

/** Whether modules that were printed with the earlier types would now differ in something that matters. */
function isNews(learned: LearnedTypes, before: LearnedTypes | undefined): boolean {
  return [...learned].some(([key, { calls, schema }]) => {
    const known = before?.get(key);
    if (known === undefined) return true;
    if (calls <= known.calls) return false;
    return calls >= 2 * known.calls || writeJson(schema) !== writeJson(known.schema);
  });
}
