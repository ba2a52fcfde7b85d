import { setImmediate } from "node:timers/promises";
import { RetryPause } from "../../base/backoff.ts";
import { outsideBoundaries } from "../../base/faults.ts";
import type { Sandbox, SandboxOutput, SandboxSource, SandboxUse } from "../sandbox.ts";
import { orCancelled, refuseCancelled, SandboxError } from "../sandbox-error.ts";
import type { SandboxStarter } from "../sandbox-starter.ts";
import { type PoolBounds, RefillPlan } from "./pool-policy.ts";
import { WaitingSandbox } from "./waiting-sandbox.ts";

/** The number of concurrent starts to refill the pool if nothing is known about the machine. */
const MAX_STARTS = 2;
/** How often to check whether fewer sandboxes are needed. */
const DRAIN_EVERY_MS = 10_000;
const MAX_IDLE_MS = 30 * 60_000;
/** How long refills wait before they look again whether a processor is free. */
const LOOK_AGAIN_MS = 250;
/** How long nothing may be refilled: then one sandbox waits all the same, whatever programs use. */
const MAX_REFUSED_MS = 30_000;
/** People who work with a model pause for less between programs. */
const REST_AFTER_MS = 3 * 60_000;
const RETRY_PAUSES = { firstMs: 500, longestMs: 30_000 };
/** A sandbox that ends after waiting this long does not count as a failed start. */
const STEADY_MS = 10_000;

export interface WarmPoolOptions {
  bounds: PoolBounds;
  /** The maximum number of concurrent starts to refill the pool; two by default. */
  maxStarts?: number | undefined;
  /** A sandbox that has waited this long is replaced; thirty minutes by default. */
  maxIdleMs?: number;
  /** When no program and no sign of a client has come for this long, the waiting sandboxes end; three minutes by default. */
  restAfterMs?: number | undefined;
  /** Whether programs use all processors of the machine. No refill begins while they do, but one after half a minute. */
  isBusy?: (() => boolean) | undefined;
}

interface Entry {
  waiting: WaitingSandbox;
  readyAtMs: number;
  ageing: NodeJS.Timeout;
  /** Whether it should be replaced. It can be used until then. */
  aged: boolean;
}

interface Applicant {
  /** Whether those go first that are not. */
  isSparing: boolean;
  output: SandboxOutput;
  use: SandboxUse | undefined;
  resolve(sandbox: Sandbox): void;
  reject(error: unknown): void;
}

/**
 * How many sandboxes a pool keeps waiting: none while nobody uses it, one once a client is there (`wake`), and as many as the demand
 * says once a program has come.
 */
type Keeps = "none" | "one" | "demand";

/**
 * Keeps sandboxes of one kind started, connected and ready, so that programs need not wait. Each sandbox serves one program. Their
 * number follows the demand (pool-policy.ts). When no program has come for a while, the pool rests: none waits until a client is there
 * again. A program that comes to an empty pool has a sandbox started for it alone, and the pool fills once it has that. It gets
 * whichever sandbox is ready first. Nothing is started before `wake`, `warm`, `warmOne` or `acquire` is called.
 */
export class WarmPool implements SandboxSource {
  readonly #starter: SandboxStarter;
  #bounds: PoolBounds;
  readonly #maxStarts: number;
  readonly #maxIdleMs: number;
  readonly #restAfterMs: number;
  readonly #isBusy: () => boolean;
  readonly #image: CurrentImage;
  readonly #pause = new RetryPause(RETRY_PAUSES, () => this.#fill());
  /** Oldest first. */
  readonly #entries: Entry[] = [];
  /** Callers of `acquire` that wait, oldest first, and those that leave the last one to others after the others. There are never more of them than starts in progress. */
  readonly #applicants: Applicant[] = [];
  readonly #starts = new Set<Promise<void>>();
  readonly #clearing = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #plan = new RefillPlan();
  /** Since when none waits and refills are refused, because all processors are used. */
  #refusedSinceMs: number | undefined;
  #refilling: NodeJS.Timeout | undefined;
  #draining: NodeJS.Timeout | undefined;
  #resting: NodeJS.Timeout | undefined;
  #keeps: Keeps = "none";
  /** The number of sandboxes started for programs that are about to ask. */
  #expected = 0;

  constructor(starter: SandboxStarter, options: WarmPoolOptions) {
    this.#starter = starter;
    this.#bounds = options.bounds;
    this.#maxStarts = options.maxStarts ?? MAX_STARTS;
    this.#maxIdleMs = options.maxIdleMs ?? MAX_IDLE_MS;
    this.#restAfterMs = options.restAfterMs ?? REST_AFTER_MS;
    this.#isBusy = options.isBusy ?? (() => false);
    this.#image = new CurrentImage(() => starter.findImage());
  }

  get ready(): boolean {
    return this.#entries.length > 0;
  }

  /** How many sandboxes wait for a program, and how many are being started. */
  get state(): { ready: number; starting: number } {
    return { ready: this.#entries.length, starting: this.#starts.size };
  }

  /** Whether sandboxes wait or begin to: a client or a program has come lately. */
  get isAwake(): boolean {
    return this.#keeps !== "none";
  }

  /**
   * Has one sandbox ready for the first program of a client that is there. Puts off the rest. Starts that fail in the background are
   * repeated after growing pauses and not reported.
   */
  wake(): void {
    this.#keep(this.isAwake ? this.#keeps : "one");
    this.#fill();
  }

  /** Begins to fill the pool as for programs that come. */
  warm(): void {
    this.#keep("demand");
    this.#fill();
  }

  #keep(keeps: Keeps): void {
    this.#keeps = keeps;
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => this.#rest(), this.#restAfterMs).unref();
  }

  /**
   * Starts one sandbox for a program that is about to ask, even if the pool is off. If that fails, the program's own `acquire` tries
   * again and reports why.
   *
   * @returns resolves when the sandbox is ready or could not be started. Never rejects.
   */
  warmOne(): Promise<void> {
    this.#expected++;
    return this.#start();
  }

  /** Uses other bounds from now on. Surplus waiting sandboxes are removed. */
  resize(bounds: PoolBounds): void {
    this.#bounds = bounds;
    this.#drain();
    this.#fill();
  }

  /**
   * Takes or starts a sandbox at once, despite earlier failures. After a cancellation its start continues, for the pool.
   *
   * @param isSparing whether the last one that waits is left to others.
   */
  async acquire(
    output: SandboxOutput,
    signal?: AbortSignal,
    use?: SandboxUse,
    isSparing = false,
  ): Promise<Sandbox> {
    this.#refuseClosed();
    refuseCancelled(signal);
    this.#plan.noteArrival();
    // The next look says what the processors do from here on.
    this.#isBusy();
    const isExpected = this.#expected > 0;
    if (isExpected) this.#expected--;
    this.#keep("demand");
    if (this.#entries.length > 0) {
      // This also checks that the engine answers, without which a program could not be killed.
      const looked = this.#image.look();
      // Waits one turn of the event loop, so that the end of a waiting sandbox is noticed.
      await orCancelled(
        looked.then(() => setImmediate()),
        signal,
      );
      this.#refuseClosed();
      this.#dropOutdated();
    }
    while (this.#entries.length > (isSparing ? 1 : 0)) {
      const entry = this.#entries.shift() as Entry;
      clearTimeout(entry.ageing);
      if (this.#give(entry.waiting, { output, use })) {
        if (this.#entries.length === 0) this.#fill();
        else this.#fillIn(this.#plan.delayMs(this.#entries.length));
        return this.#followed(entry.waiting.sandbox);
      }
      this.#clear(entry.waiting);
    }
    return this.#followed(await this.#apply({ output, use, isSparing }, isExpected, signal));
  }

  /** Ends all waiting and starting sandboxes, and resolves when they are removed. Taken ones are left alone. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#refilling);
    clearTimeout(this.#draining);
    clearTimeout(this.#resting);
    this.#pause.stop();
    const closed = new SandboxError("cancelled", "ptc is ending");
    for (const applicant of this.#applicants.splice(0)) applicant.reject(closed);
    for (const entry of this.#entries.splice(0)) this.#discard(entry);
    while (this.#starts.size + this.#clearing.size > 0) {
      await Promise.all([...this.#starts, ...this.#clearing]);
    }
  }

  #refuseClosed(): void {
    if (this.#closing.signal.aborted) throw new SandboxError("cancelled", "ptc is ending");
  }

  #give(waiting: WaitingSandbox, { output, use }: Pick<Applicant, "output" | "use">): boolean {
    const taken = waiting.take(output);
    if (taken) this.#pause.succeed();
    if (taken && use !== undefined) waiting.sandbox.assign?.(use);
    return taken;
  }

  /** @param isExpected whether a sandbox was started for this caller before it asked. */
  async #apply(
    given: Pick<Applicant, "output" | "use" | "isSparing">,
    isExpected: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Sandbox> {
    const applicant: Applicant = { ...given, resolve() {}, reject() {} };
    const served = new Promise<Sandbox>((resolve, reject) => {
      Object.assign(applicant, { resolve, reject });
    });
    const before = given.isSparing ? -1 : this.#applicants.findIndex(({ isSparing }) => isSparing);
    this.#applicants.splice(before < 0 ? this.#applicants.length : before, 0, applicant);
    if (!isExpected || this.#starts.size < this.#applicants.length) void this.#start(given.use);
    try {
      return await orCancelled(served, signal);
    } finally {
      const index = this.#applicants.indexOf(applicant);
      if (index >= 0) this.#applicants.splice(index, 1);
    }
  }

  get #target(): number {
    return Math.max(this.#expected, this.#kept());
  }

  #kept(): number {
    switch (this.#keeps) {
      case "none":
        return 0;
      case "one":
        return Math.min(1, this.#bounds.floor);
      case "demand":
        return this.#plan.target(this.#bounds);
    }
  }

  #fill(): void {
    if (!this.isAwake || this.#closing.signal.aborted || this.#lacking() <= 0) return;
    const lullInMs = this.#plan.untilLullMs(this.#stock);
    if (lullInMs > 0) {
      this.#fillIn(lullInMs);
      return;
    }
    // What waits for a client's first program is no refill.
    if (this.#keeps === "demand" && this.#isBusy()) {
      this.#fillIn(LOOK_AGAIN_MS);
      this.#keepOne();
      return;
    }
    this.#refusedSinceMs = undefined;
    const hasRoom = () => this.#starts.size < this.#plan.atOnce({ ...this.#stock, most: this.#maxStarts });
    while (!this.#pause.active && hasRoom() && this.#lacking() > 0) void this.#start();
  }

  /** Starts one sandbox where none waits and refills have been refused for long. */
  #keepOne(): void {
    const hasOne = this.#entries.length + this.#starts.size > this.#applicants.length;
    const nowMs = performance.now();
    this.#refusedSinceMs = hasOne ? undefined : (this.#refusedSinceMs ?? nowMs);
    if (this.#refusedSinceMs === undefined || nowMs - this.#refusedSinceMs < MAX_REFUSED_MS) return;
    if (!this.#pause.active) void this.#start();
  }

  get #stock(): { ready: number; target: number } {
    return { ready: this.#entries.length, target: this.#target };
  }

  /** Refills the pool at the latest when a taken sandbox has ended. */
  #followed(taken: Sandbox): Sandbox {
    const end = () => {
      this.#plan.noteEnd();
      this.#fill();
    };
    taken.exited.then(end, end);
    return taken;
  }

  #fillIn(waitMs: number): void {
    clearTimeout(this.#refilling);
    this.#refilling = setTimeout(() => this.#fill(), waitMs).unref();
  }

  /** How many more sandboxes must be started to fill the pool, after those being started have served waiting callers. */
  #lacking(): number {
    const fresh = this.#entries.filter(({ aged }) => !aged).length;
    return this.#target - fresh - (this.#starts.size - this.#applicants.length);
  }

  /** @param use that of the program which will most likely get the sandbox. */
  #start(use?: SandboxUse): Promise<void> {
    const begunAtMs = performance.now();
    // A sandbox may be taken by another run than the one that had it started, so no run's boundary holds its start.
    const start = outsideBoundaries(() =>
      WaitingSandbox.start(this.#starter, this.#closing.signal, use),
    ).then(
      (waiting) => {
        this.#starts.delete(start);
        this.#plan.noteBoot(performance.now() - begunAtMs);
        this.#arrive(waiting, begunAtMs);
      },
      (error: unknown) => {
        this.#starts.delete(start);
        this.#fail(error);
      },
    );
    this.#starts.add(start);
    return start;
  }

  #arrive(waiting: WaitingSandbox, begunAtMs: number): void {
    this.#image.see(waiting.sandbox.image, begunAtMs);
    // Whoever leaves the last one to others lets it be there first, where the next one is on its way.
    const isSpare =
      this.#applicants[0]?.isSparing === true &&
      this.#entries.length === 0 &&
      this.#starts.size >= this.#applicants.length;
    const applicant = isSpare ? undefined : this.#applicants.shift();
    if (applicant === undefined) this.#store(waiting);
    else if (this.#give(waiting, applicant)) applicant.resolve(waiting.sandbox);
    else {
      this.#applicants.unshift(applicant);
      this.#clear(waiting);
      this.#fail(new SandboxError("start_failed", "the sandbox ended before it had a program"));
    }
    this.#dropOutdated();
  }

  /** Handles a failed start. A waiting caller is rejected only if no other start can still serve it. */
  #fail(error: unknown): void {
    if (this.#applicants.length > this.#starts.size) this.#applicants.shift()?.reject(error);
    this.#pause.fail();
  }

  #store(waiting: WaitingSandbox): void {
    if (this.#closing.signal.aborted) {
      this.#clear(waiting);
      return;
    }
    const age = () => {
      entry.aged = true;
      this.#fill();
    };
    const ageing = setTimeout(age, this.#maxIdleMs).unref();
    const entry: Entry = { waiting, readyAtMs: performance.now(), ageing, aged: false };
    this.#entries.push(entry);
    void waiting.lost.then(() => this.#lose(entry));
    // An aged sandbox is removed only after its replacement is ready.
    this.#drain();
  }

  /** Ends what waits, until a client or a program comes. What is being started ends as soon as it is ready. */
  #rest(): void {
    this.#keeps = "none";
    this.#drain();
  }

  /** Removes surplus waiting sandboxes, oldest first, now and whenever fewer are needed. */
  #drain(): void {
    const target = this.#target;
    while (this.#entries.length > target) this.#discard(this.#entries.shift() as Entry);
    clearTimeout(this.#draining);
    if (this.#entries.length <= this.#bounds.floor) return;
    this.#draining = setTimeout(() => this.#drain(), DRAIN_EVERY_MS).unref();
  }

  #lose(entry: Entry): void {
    const index = this.#entries.indexOf(entry);
    if (index < 0) return;
    this.#entries.splice(index, 1);
    this.#discard(entry);
    if (performance.now() - entry.readyAtMs > STEADY_MS) this.#pause.succeed();
    this.#pause.fail();
  }

  /** Removes waiting sandboxes with an outdated image, and refills the pool. */
  #dropOutdated(): void {
    const outdated = this.#entries.filter(({ waiting }) => !this.#image.is(waiting.sandbox.image));
    for (const entry of outdated) {
      this.#entries.splice(this.#entries.indexOf(entry), 1);
      this.#discard(entry);
    }
    this.#fill();
  }

  #discard(entry: Entry): void {
    clearTimeout(entry.ageing);
    this.#clear(entry.waiting);
  }

  #clear(waiting: WaitingSandbox): void {
    const cleared = waiting.sandbox.dispose().finally(() => this.#clearing.delete(cleared));
    this.#clearing.add(cleared);
  }
}

/** How long an answer of the engine is reused. */
const GOOD_MS = 1_000;

/** The image that the runner image's name refers to now. It can be rebuilt at any time. */
export class CurrentImage {
  readonly #find: () => Promise<string>;
  #seen: { digest: string; atMs: number } | undefined;
  #looking: Promise<string> | undefined;

  constructor(find: () => Promise<string>) {
    this.#find = find;
  }

  /** The digest, at most a second old. Rejects like `find`. */
  async look(): Promise<string> {
    const nowMs = performance.now();
    if (this.#seen !== undefined && nowMs - this.#seen.atMs < GOOD_MS) return this.#seen.digest;
    this.#looking ??= this.#find().finally(() => {
      this.#looking = undefined;
    });
    this.see(await this.#looking, nowMs);
    return this.#seen?.digest ?? "";
  }

  /** Records the digest found by a look-up that began at `atMs`. */
  see(digest: string, atMs: number): void {
    if (this.#seen === undefined || atMs >= this.#seen.atMs) this.#seen = { digest, atMs };
  }

  /** Whether this was the digest when the image was last looked up. */
  is(digest: string): boolean {
    return this.#seen?.digest === digest;
  }
}
