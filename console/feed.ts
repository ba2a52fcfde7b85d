/**
 * What happens, as it happens, for browsers: runs that were archived, runs in progress where this process has them, and questions that
 * wait. It polls the storage while somebody watches, once for all who watch, so that a console that nobody has open
 * costs nothing. A browser gets states, not deltas: changes while it is busy are in the next state, so that nothing queues up. The
 * id of an event is the place of the newest run in the archive. A browser that reconnects continues from there.
 */
import { ArchiveError } from "../archive/archive-error.ts";
import type { ArchiveStore } from "../archive/archive-store.ts";
import type { ListedQuestion, PendingApprovals } from "../execution/pending/pending-approvals.ts";
import { PendingError } from "../execution/pending/tickets.ts";
import type { LiveRuns } from "./live-runs.ts";
import type { Sight } from "./sight.ts";
import type { Viewer } from "./viewer.ts";

/** One message to a browser. */
export interface FeedEvent {
  readonly event: "runs" | "waiting" | "live";
  /** The place of the newest run in the archive. */
  readonly id: string;
  readonly data: object;
}

const MAX_WATCHERS = 1_000;
const MAX_OF_ONE = 20;
/** The most runs that one event names. */
const MAX_NAMED = 50;
const MAX_AT_ONCE = 500;
/** How long ptc gathers events of runs before it notifies browsers. */
const GATHER_MS = 200;

export interface FeedOptions {
  archive: Pick<ArchiveStore, "following" | "list" | "read">;
  pending: () => Promise<Pick<PendingApprovals, "list">>;
  live: LiveRuns | undefined;
  /** How often the feed reads the storage, in milliseconds. */
  intervalMs: number;
}

interface Watcher {
  sight: Sight;
  wake: () => void;
}

export class Feed {
  readonly #options: FeedOptions;
  readonly #watchers = new Set<Watcher>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #newest: number | undefined;
  /** What waits in the runs of a principal, or of everybody. */
  readonly #waiting = new Map<string | undefined, { key: string; questions: readonly ListedQuestion[] }>();
  #stopLive: (() => void) | undefined;
  #soon: NodeJS.Timeout | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** How many browsers watch. */
  get watchers(): number {
    return this.#watchers.size;
  }

  /** Whether one more browser of a viewer may watch. */
  hasRoomFor({ principal }: Viewer): boolean {
    const own = [...this.#watchers].filter(({ sight }) => sight.viewer.principal === principal);
    return this.#watchers.size < MAX_WATCHERS && own.length < MAX_OF_ONE;
  }

  /**
   * The events for one browser, until the signal is aborted. The first says what waits now.
   *
   * @param lastId the id of the last event that the browser received; it gets what is newer.
   * @param runId the run whose page it shows, if any: of the runs in progress, it gets events of this run alone.
   */
  async *watch(
    sight: Sight,
    { lastId, runId }: { lastId?: string | undefined; runId?: string | undefined },
    signal: AbortSignal,
  ): AsyncGenerator<FeedEvent> {
    let wake = Promise.withResolvers<void>();
    const watcher: Watcher = { sight, wake: () => wake.resolve() };
    const onAbort = () => wake.resolve();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#watchers.add(watcher);
    this.#start();
    try {
      await this.#look();
      let at = placeIn(lastId) ?? this.#newest;
      let [waiting, live] = ["", ""];
      while (!signal.aborted) {
        wake = Promise.withResolvers<void>();
        const id = () => String(at ?? 0);
        const now = this.#waiting.get(sight.asksOf);
        const questions = now === undefined ? undefined : await sight.answerable(now.questions);
        if (questions !== undefined && keyOf(questions) !== waiting) {
          waiting = keyOf(questions);
          yield { event: "waiting", id: id(), data: describeWaiting(questions) };
        }
        if (this.#newest !== undefined && at !== this.#newest) {
          const runs = await this.#since(at ?? 0, sight);
          at = this.#newest;
          if (runs.length > 0) yield { event: "runs", id: id(), data: { runs } };
        }
        const version = (await this.#options.live?.versionFor(sight, runId)) ?? "none";
        if (`at ${version}` !== live) {
          live = `at ${version}`;
          const running = (await this.#options.live?.runsFor(sight))?.length ?? 0;
          yield { event: "live", id: id(), data: { running } };
        }
        await wake.promise;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.#stop();
    }
  }

  /** Polls at once, so that watchers see a change that was just made here. */
  async refresh(): Promise<void> {
    if (this.#watchers.size > 0) await this.#look();
  }

  close(): void {
    this.#stop();
    for (const { wake } of this.#watchers) wake();
  }

  #start(): void {
    this.#timer ??= setInterval(() => void this.#look(), this.#options.intervalMs).unref();
    this.#stopLive ??= this.#options.live?.watch(() => this.#wakeSoon());
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    clearTimeout(this.#soon);
    this.#soon = undefined;
    this.#stopLive?.();
    this.#stopLive = undefined;
    this.#waiting.clear();
    this.#newest = undefined;
  }

  #wakeSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#wakeAll();
    }, GATHER_MS).unref();
  }

  #wakeAll(): void {
    for (const { wake } of this.#watchers) wake();
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { archive, pending } = this.#options;
    // A position beyond every run, so that only the newest place is read.
    const newest = await orNothing(async () => (await archive.following(Number.MAX_SAFE_INTEGER, 1)).newest);
    let isChanged = newest !== undefined && newest !== this.#newest;
    this.#newest = newest ?? this.#newest;
    const approvals = await pending();
    for (const principal of new Set([...this.#watchers].map(({ sight }) => sight.asksOf))) {
      const questions = await orNothing(() => approvals.list(principal));
      if (questions === undefined) continue;
      const open = questions.filter(({ isAnswered }) => !isAnswered);
      const key = keyOf(open);
      if (this.#waiting.get(principal)?.key === key) continue;
      this.#waiting.set(principal, { key, questions: open });
      isChanged = true;
    }
    if (isChanged) this.#wakeAll();
  }

  /** The runs after a place that a viewer sees, the newest last. */
  async #since(place: number, sight: Sight): Promise<object[]> {
    const { archive } = this.#options;
    const found = await orNothing(() => archive.following(place, MAX_AT_ONCE));
    const runs: object[] = [];
    for (const { runId } of (found?.runs ?? []).slice(-MAX_NAMED)) {
      const [run] = (await orNothing(() => archive.list({ runId, limit: 1 })))?.runs ?? [];
      if (run === undefined || !(await sight.mayList(run, archive))) continue;
      const { run_id, status, file_name } = run;
      runs.push({ run_id, status, file_name });
    }
    return runs;
  }
}

function placeIn(lastId: string | undefined): number | undefined {
  return lastId !== undefined && /^\d{1,15}$/.test(lastId) ? Number(lastId) : undefined;
}

function keyOf(questions: readonly ListedQuestion[]): string {
  return questions.map(questionKey).join() || "none";
}

function describeWaiting(questions: readonly ListedQuestion[]): object {
  return {
    count: questions.length,
    questions: questions.map((each) => ({ key: questionKey(each), tool: each.request.tool })),
  };
}

/** A value of the storage, or nothing while the storage cannot be read or does not exist yet. */
async function orNothing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ArchiveError || error instanceof PendingError) return undefined;
    throw error;
  }
}

/** Distinguishes a question from others under the same ticket. */
export function questionKey({ ticket, digest }: Pick<ListedQuestion, "ticket" | "digest">): string {
  return `${ticket} ${digest}`;
}
