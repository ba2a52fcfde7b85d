import { RecentlyUsed } from "../../base/recently-used.ts";
import { Checker, type CheckOutcome, startProcess, startThread } from "./checker.ts";
import { boundedJson } from "./json-parts.ts";
import type { CheckBounds } from "./schema-worker.ts";

export interface PooledCheck {
  /** The name of the server whose schema it is. */
  owner: string;
  /** The schema's digest. */
  schema: string;
  /** The schema's JSON text. */
  json: string;
  value: unknown;
  /** Whether a thread may run the check: it may take any time, but only as much memory as a thread may use. */
  mayUseThread: boolean;
}

export type PoolOutcome = CheckOutcome | { state: "too_many" | "closed" };

const BOUNDS: CheckBounds = { compileMs: 5_000, checkMs: 2_000 };
/** How long a schema that took too much time or memory is kept away from the shared threads and processes. */
const QUARANTINE_MS = 60_000;
const IDLE_MS = 30_000;
const MAX_OFFENDERS = 1_024;
/** Values with a longer JSON text are checked in a process. */
const MAX_THREAD_CHARS = 256 * 1024;

/** Threads and processes that the schemas of all servers share, and the process for schemas in quarantine. */
const LANES = { thread: 2, process: 2, quarantine: 1 } as const;
type Lane = keyof typeof LANES;

interface Waiting extends PooledCheck {
  /** The value's JSON text if a thread may check it; `undefined` if a process must. */
  text: string | undefined;
  settle(outcome: PoolOutcome): void;
}

interface Slot {
  lane: Lane;
  checker: Checker;
  check: Waiting | undefined;
  idle: NodeJS.Timeout | undefined;
}

interface Offence {
  /** On the clock of `performance.now()`. */
  until: number;
  /** Whether compiling the schema took too long, so that no value can be checked. */
  isOfSchema: boolean;
}

/**
 * Checks values in a few threads and processes, each of which checks one value at a time. A check that ends its thread or
 * process affects no other, because waiting checks have not been sent yet. An owner uses at most one shared thread and one
 * shared process. A schema that took too long is checked in the quarantine process for a while. So the schemas of one server
 * delay those of another by at most one check.
 */
export class CheckingPool {
  readonly #module: URL;
  readonly #bounds: CheckBounds;
  readonly #queue = new CheckQueue<Waiting>();
  readonly #slots: Slot[] = [];
  readonly #offences = new RecentlyUsed<string, Offence>({ maxEntries: MAX_OFFENDERS });
  #isClosed = false;

  /** @param module the `schema-worker` module, which threads and processes run. */
  constructor(module: URL, bounds = BOUNDS) {
    this.#module = module;
    this.#bounds = bounds;
  }

  /** Checks a value in its turn. The time limits begin with the turn. Never rejects. */
  async check(check: PooledCheck): Promise<PoolOutcome> {
    const text = await this.#textForThread(check);
    return new Promise((resolve) => {
      if (this.#isClosed) resolve({ state: "closed" });
      else if (this.#offenceOf(check.schema)?.isOfSchema) resolve({ state: "overtime", of: "schema" });
      else if (!this.#queue.add({ ...check, text, settle: resolve })) resolve({ state: "too_many" });
      else this.#takeNext();
    });
  }

  /** Ends all threads and processes. Waiting and running checks end as `closed`. */
  close(): void {
    this.#isClosed = true;
    for (const { settle } of this.#queue.clear()) settle({ state: "closed" });
    for (const slot of [...this.#slots]) {
      slot.check?.settle({ state: "closed" });
      this.#drop(slot);
    }
  }

  async #textForThread({ mayUseThread, schema, value }: PooledCheck): Promise<string | undefined> {
    if (!mayUseThread || this.#offenceOf(schema) !== undefined) return undefined;
    return value === undefined ? "" : boundedJson(value, MAX_THREAD_CHARS);
  }

  #takeNext(): void {
    for (const slot of this.#slots.filter(({ checker }) => checker.hasEnded)) this.#drop(slot);
    for (const lane of Object.keys(LANES) as Lane[]) {
      while (this.#hasRoom(lane)) {
        const check = this.#queue.take((each) => this.#mayRun(each, lane));
        if (check === undefined) break;
        void this.#run(this.#slotFor(lane), check);
      }
    }
  }

  #hasRoom(lane: Lane): boolean {
    return this.#slots.filter((slot) => slot.lane === lane && slot.check !== undefined).length < LANES[lane];
  }

  #mayRun({ owner, schema, text }: Waiting, lane: Lane): boolean {
    if (this.#offenceOf(schema) !== undefined) return lane === "quarantine";
    if (lane !== (text === undefined ? "process" : "thread")) return false;
    return !this.#slots.some((slot) => slot.lane === lane && slot.check?.owner === owner);
  }

  /** An idle slot of the lane, or a new one. */
  #slotFor(lane: Lane): Slot {
    const waiting = this.#slots.find((slot) => slot.lane === lane && slot.check === undefined);
    if (waiting !== undefined) return waiting;
    const checker = new Checker(this.#module, lane === "thread" ? startThread : startProcess);
    const slot: Slot = { lane, checker, check: undefined, idle: undefined };
    this.#slots.push(slot);
    return slot;
  }

  async #run(slot: Slot, check: Waiting): Promise<void> {
    clearTimeout(slot.idle);
    slot.check = check;
    const { compileMs, checkMs } = this.#bounds;
    // A schema that took too long before gets half of the time.
    const bounds = { compileMs, checkMs: slot.lane === "quarantine" ? checkMs / 2 : checkMs };
    const outcome = await slot.checker.check(check, bounds);
    slot.check = undefined;
    if (outcome.state === "overtime" || outcome.state === "died") {
      const isOfSchema = outcome.state === "overtime" && outcome.of === "schema";
      this.#offences.set(check.schema, { until: performance.now() + QUARANTINE_MS, isOfSchema });
    }
    if (slot.checker.hasEnded) this.#drop(slot);
    else slot.idle = setTimeout(() => this.#drop(slot), IDLE_MS).unref();
    check.settle(outcome);
    this.#takeNext();
  }

  #offenceOf(schema: string): Offence | undefined {
    const offence = this.#offences.peek(schema);
    if (offence === undefined || offence.until > performance.now()) return offence;
    this.#offences.delete(schema);
    return undefined;
  }

  #drop(slot: Slot): void {
    clearTimeout(slot.idle);
    const index = this.#slots.indexOf(slot);
    if (index >= 0) this.#slots.splice(index, 1);
    slot.checker.end();
  }
}

/** The owner and the schema of a check. */
export interface QueuedCheck {
  /** The name of the server whose schema it is. */
  owner: string;
  /** The schema's digest. */
  schema: string;
}

const MAX_WAITING = 4_096;
/** The maximum number of waiting checks per owner, so that no owner can fill the queue alone. */
const MAX_WAITING_OF_OWNER = 512;
const MAX_REMEMBERED = 4_096;

/**
 * Checks that wait for their turn. Owners take turns, and so do the schemas of one owner: the least recently served is next.
 * So however many checks one owner adds, another owner waits for only one of them.
 */
export class CheckQueue<Check extends QueuedCheck> {
  #waiting: Check[] = [];
  #turn = 0;
  readonly #turnOfOwner = new RecentlyUsed<string, number>({ maxEntries: MAX_REMEMBERED });
  readonly #turnOfSchema = new RecentlyUsed<string, number>({ maxEntries: MAX_REMEMBERED });

  /** Adds a check. Returns false if there is no room for it. */
  add(check: Check): boolean {
    if (this.#waiting.length >= MAX_WAITING) return false;
    const ofOwner = this.#waiting.reduce((count, { owner }) => count + (owner === check.owner ? 1 : 0), 0);
    if (ofOwner >= MAX_WAITING_OF_OWNER) return false;
    this.#waiting.push(check);
    return true;
  }

  /** Takes the next check for which `mayTake` returns true. */
  take(mayTake: (check: Check) => boolean): Check | undefined {
    let next: Check | undefined;
    let nextTurns: readonly [number, number] = [0, 0];
    for (const check of this.#waiting) {
      if (!mayTake(check)) continue;
      const turns = this.#turnsOf(check);
      if (next !== undefined && !isBefore(turns, nextTurns)) continue;
      next = check;
      nextTurns = turns;
    }
    if (next === undefined) return undefined;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#turn++;
    this.#turnOfOwner.set(next.owner, this.#turn);
    this.#turnOfSchema.set(next.schema, this.#turn);
    return next;
  }

  /** Takes all checks out of the queue. */
  clear(): Check[] {
    return this.#waiting.splice(0);
  }

  #turnsOf({ owner, schema }: Check): [number, number] {
    return [this.#turnOfOwner.peek(owner) ?? 0, this.#turnOfSchema.peek(schema) ?? 0];
  }
}

function isBefore([owner, schema]: readonly [number, number], other: readonly [number, number]): boolean {
  return owner < other[0] || (owner === other[0] && schema < other[1]);
}
