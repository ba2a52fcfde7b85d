import { setImmediate } from "node:timers/promises";
import { CurrentImage } from "./current-image.ts";
import { orCancelled, refuseCancelled } from "./or-cancelled.ts";
import { RetryPause } from "./retry-pause.ts";
import type { Sandbox, SandboxOutput, SandboxSource, SandboxStarter } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { WaitingSandbox } from "./waiting-sandbox.ts";

/** Starts in the background at a time: more take more from the programs that run than they gain. */
const MAX_REFILLS = 2;
const MAX_IDLE_MS = 30 * 60_000;
/** One that has waited for so long was a good one, whatever it died of. */
const STEADY_MS = 10_000;

export interface WarmPoolOptions {
  /** Sandboxes that are kept waiting. */
  size: number;
  /** One that has waited for so long is replaced; thirty minutes by default. */
  maxIdleMs?: number;
}

interface Entry {
  waiting: WaitingSandbox;
  readyAtMs: number;
  ageing: NodeJS.Timeout;
  /** To be replaced; good until then. */
  aged: boolean;
}

interface Applicant {
  output: SandboxOutput;
  resolve(sandbox: Sandbox): void;
  reject(error: unknown): void;
}

/**
 * Keeps sandboxes started, connected and greeted, so that a program need not wait for one; each is for one program.
 * Does nothing until it is primed or asked. For whoever asks an empty pool one is started at once, beside those that
 * refill it, and they get whichever is ready first.
 */
export class WarmPool implements SandboxSource {
  readonly #starter: SandboxStarter;
  readonly #size: number;
  readonly #maxIdleMs: number;
  readonly #image: CurrentImage;
  readonly #pause = new RetryPause(() => this.#fill());
  /** Oldest first. */
  readonly #entries: Entry[] = [];
  /** First come, first served. There are never more of them than starts under way. */
  readonly #applicants: Applicant[] = [];
  readonly #starts = new Set<Promise<void>>();
  readonly #clearing = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #refills = 0;
  #primed = false;

  constructor(starter: SandboxStarter, options: WarmPoolOptions) {
    this.#starter = starter;
    this.#size = options.size;
    this.#maxIdleMs = options.maxIdleMs ?? MAX_IDLE_MS;
    this.#image = new CurrentImage(() => starter.findImage());
  }

  get ready(): boolean {
    return this.#entries.length > 0;
  }

  /** Begins to fill the pool. What fails in the background is tried again, later and later; nobody is told. */
  prime(): void {
    this.#primed = true;
    this.#fill();
  }

  /** Tries at once, whatever has failed before. Given up, it rejects at once; a sandbox that comes too late waits for the next. */
  async acquire(output: SandboxOutput, signal?: AbortSignal): Promise<Sandbox> {
    this.#refuseClosed();
    refuseCancelled(signal);
    this.prime();
    if (this.#entries.length > 0) {
      // Also says whether the engine answers: without it nobody could end the program.
      const looked = this.#image.look();
      // A turn of the event loop, in which the news arrives of what has just ended.
      await orCancelled(
        looked.then(() => setImmediate()),
        signal,
      );
      this.#refuseClosed();
      this.#dropOutdated();
    }
    for (let entry = this.#entries.shift(); entry !== undefined; entry = this.#entries.shift()) {
      clearTimeout(entry.ageing);
      if (this.#give(entry.waiting, output)) {
        this.#fill();
        return entry.waiting.sandbox;
      }
      this.#clear(entry.waiting);
    }
    return this.#apply(output, signal);
  }

  /** Ends all that wait or are being started, and resolves when nothing of them is left. What is taken is its taker's. */
  async close(): Promise<void> {
    this.#closing.abort();
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

  #give(waiting: WaitingSandbox, output: SandboxOutput): boolean {
    const taken = waiting.take(output);
    if (taken) this.#pause.succeed();
    return taken;
  }

  async #apply(output: SandboxOutput, signal: AbortSignal | undefined): Promise<Sandbox> {
    const applicant: Applicant = { output, resolve() {}, reject() {} };
    const served = new Promise<Sandbox>((resolve, reject) => {
      Object.assign(applicant, { resolve, reject });
    });
    this.#applicants.push(applicant);
    this.#start();
    try {
      return await orCancelled(served, signal);
    } finally {
      const index = this.#applicants.indexOf(applicant);
      if (index >= 0) this.#applicants.splice(index, 1);
    }
  }

  #fill(): void {
    if (!this.#primed || this.#closing.signal.aborted) return;
    while (!this.#pause.active && this.#refills < MAX_REFILLS && this.#lacking() > 0) {
      this.#refills++;
      this.#start(() => this.#refills--);
    }
  }

  /** How many more are needed, once all that is under way has come to whom it is for. */
  #lacking(): number {
    const fresh = this.#entries.filter(({ aged }) => !aged).length;
    return this.#size - fresh - (this.#starts.size - this.#applicants.length);
  }

  #start(ended = () => {}): void {
    const begunAtMs = performance.now();
    const over = () => {
      this.#starts.delete(start);
      ended();
    };
    const start = WaitingSandbox.start(this.#starter, this.#closing.signal).then(
      (waiting) => {
        over();
        this.#arrive(waiting, begunAtMs);
      },
      (error: unknown) => {
        over();
        this.#fail(error);
      },
    );
    this.#starts.add(start);
  }

  #arrive(waiting: WaitingSandbox, begunAtMs: number): void {
    this.#image.see(waiting.sandbox.image, begunAtMs);
    const applicant = this.#applicants.shift();
    if (applicant === undefined) this.#keep(waiting);
    else if (this.#give(waiting, applicant.output)) applicant.resolve(waiting.sandbox);
    else {
      this.#applicants.unshift(applicant);
      this.#clear(waiting);
      this.#fail(new SandboxError("start_failed", "the sandbox ended before it had a program"));
    }
    this.#dropOutdated();
  }

  /** Whoever applied is told of a failure only when no start is left that could serve them. */
  #fail(error: unknown): void {
    if (this.#applicants.length > this.#starts.size) this.#applicants.shift()?.reject(error);
    this.#pause.fail();
  }

  #keep(waiting: WaitingSandbox): void {
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
    // What has aged goes when that which replaces it is there.
    while (this.#entries.length > this.#size) this.#discard(this.#entries.shift() as Entry);
  }

  #lose(entry: Entry): void {
    const index = this.#entries.indexOf(entry);
    if (index < 0) return;
    this.#entries.splice(index, 1);
    this.#discard(entry);
    if (performance.now() - entry.readyAtMs > STEADY_MS) this.#pause.succeed();
    this.#pause.fail();
  }

  /** And fills up again. */
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
