/**
 * What principals may use: programs at a time and a minute, calls a minute, processor seconds and result bytes a day. A program
 * counts for its principal, for each of the principal's groups, and for everybody together, and the strictest limit decides.
 *
 * A program is admitted when its turn comes, in one request to what counts, which takes along what earlier programs have used.
 * Calls are taken in shares: a program that makes more than its share asks for another. What was not used of a share is given
 * back. Processor time and bytes are known only afterwards: who has any left may begin a program, and a program ends to make calls
 * where its principal's bytes are used up.
 */
import { randomUUID } from "node:crypto";
import {
  type Admitted,
  type Count,
  type Counters,
  type CountRequest,
  HOLD_MS,
  type Settlement,
  type Span,
  type Take,
} from "../../archive/counters.ts";
import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/faults.ts";
import type { CallAllowance } from "../../broker/call-interceptors.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { buildFailure, type Failure } from "../../protocol/failure.ts";
import type { Identified } from "../../protocol/run-context.ts";

export type LimitSettings = Configuration["limits"];
export type UseLimits = LimitSettings["each"];
type LimitKey = keyof UseLimits;

/** Whose use is limited. */
export type Subject = Identified;

interface Kind {
  readonly span: Span;
  /** The setting, and what it counts, for messages. */
  readonly setting: string;
  readonly what: string;
  /** What is counted for each unit of the setting. */
  readonly unit: number;
}

const KINDS: Readonly<Record<LimitKey, Kind>> = {
  maxParallelPrograms: {
    span: "held",
    setting: "max_parallel_programs",
    what: "programs at a time",
    unit: 1,
  },
  maxProgramsPerMinute: {
    span: "minute",
    setting: "max_programs_per_minute",
    what: "programs a minute",
    unit: 1,
  },
  maxCallsPerMinute: { span: "minute", setting: "max_calls_per_minute", what: "calls a minute", unit: 1 },
  maxCpuSecondsPerDay: {
    span: "day",
    setting: "max_cpu_seconds_per_day",
    what: "processor seconds a day",
    unit: 1_000,
  },
  maxResultBytesPerDay: {
    span: "day",
    setting: "max_result_bytes_per_day",
    what: "bytes of results a day",
    unit: 1,
  },
};
const KEYS = Object.keys(KINDS) as LimitKey[];

/** One limit that a subject's use counts against. */
export interface AppliedLimit {
  readonly key: LimitKey;
  /** What is counted, by a name that everybody has who shares the limit. */
  readonly name: string;
  /** The setting, such as `limits.each.max_calls_per_minute`. */
  readonly setting: string;
  /** In the unit of the setting. */
  readonly limit: number;
}

/**
 * The limits of a subject. What `principals` says of it counts instead of what `each` of its groups says, and that instead of
 * `limits.each`, one by one; of several groups the most generous counts.
 *
 * @param groups all groups of the subject.
 */
export function appliedLimits(
  { together, each, groups: ofGroups, principals }: LimitSettings,
  principal: string,
  groups: readonly string[],
): AppliedLimit[] {
  const mine = groups.flatMap((group) => {
    const settings = Object.hasOwn(ofGroups, group) ? ofGroups[group] : undefined;
    return settings === undefined ? [] : [{ group, ...settings }];
  });
  const named = Object.hasOwn(principals, principal) ? principals[principal] : undefined;
  const applied: AppliedLimit[] = [];
  const add = (key: LimitKey, whose: readonly string[], path: string, limit: number | undefined) => {
    if (limit === undefined) return;
    const { setting } = KINDS[key];
    applied.push({
      key,
      name: JSON.stringify([setting, ...whose]),
      setting: `limits.${path}.${setting}`,
      limit,
    });
  };
  for (const key of KEYS) {
    const own = ["principal", principal];
    const best = mine
      .filter((group) => group.each[key] !== undefined)
      .sort((one, other) => (other.each[key] ?? 0) - (one.each[key] ?? 0))[0];
    if (named?.[key] !== undefined) add(key, own, `principals.'${principal}'`, named[key]);
    else if (best !== undefined) add(key, own, `groups.${best.group}.each`, best.each[key]);
    else add(key, own, "each", each[key]);
    for (const { group, together: shared } of mine)
      add(key, ["group", group], `groups.${group}.together`, shared[key]);
    add(key, ["everybody"], "together", together[key]);
  }
  return applied;
}

/** What an admitted program, or call, may use. */
export interface Allowance extends CallAllowance {
  /** Counts processor time, also after the end. */
  useCpu(ms: number): void;
  /** Ends it. May be called more than once. */
  end(): void;
}

export type Admission =
  | { kind: "admitted"; allowance: Allowance }
  | { kind: "later"; afterMs: number; failure: Busy }
  | { kind: "refused"; failure: Busy };

/** Why somebody may not use more now. */
export interface Busy extends Failure {
  /** When there is more; `undefined` where that depends on what others use. */
  readonly retryAfterSeconds: number | undefined;
}

export interface UsageLimitsOptions {
  counters: Counters;
  /** The limits as they are now. */
  settings: () => LimitSettings;
  /** The groups of the configuration, and who is in them. */
  groups: () => Readonly<Record<string, readonly string[]>>;
  clock: Pick<Clock, "monotonicMs">;
}

/** While a principal has as many programs as it may, elsewhere too: how soon it is looked for again whether one has ended. */
const LOOK_AGAIN_MS = 250;
/** How long what ended programs have used waits for a request that takes it along. */
const SETTLE_MS = 50;
const RENEW_MS = HOLD_MS / 4;
/** A share of calls is this part of the smallest limit, so that a few programs at a time have some each. */
const SHARES = 8;
/** The most limits that are remembered as used up. */
const MAX_REMEMBERED = 10_000;

interface Waiting {
  takes: readonly Take[];
  resolve: (admitted: Admitted) => void;
  reject: (error: unknown) => void;
}

export class UsageLimits {
  readonly #options: UsageLimitsOptions;
  readonly #holder = randomUUID();
  readonly #holds = new Map<string, number>();
  #settlements: Settlement[] = [];
  #waiting: Waiting[] = [];
  #isCounting = false;
  #settling: NodeJS.Timeout | undefined;
  #renewing: NodeJS.Timeout | undefined;
  /** Limits that are used up, and until when, by the monotonic clock. */
  readonly #usedUp = new Map<string, { until: number; limit: number }>();

  constructor(options: UsageLimitsOptions) {
    this.#options = options;
  }

  /** Why a program of the subject would be refused now, by what this process knows without a request. */
  whyNot(subject: Subject, isCall = false): Busy | undefined {
    const now = this.#options.clock.monotonicMs();
    for (const applied of this.#limitsOf(subject, isCall)) {
      const found = this.#usedUp.get(applied.name);
      if (found === undefined) continue;
      if (found.until > now && found.limit >= applied.limit) return busy(applied, 0, found.until - now);
      this.#usedUp.delete(applied.name);
    }
    return undefined;
  }

  /** Admits a program, or a single call, or says when there is more. */
  async admit(subject: Subject, isCall = false): Promise<Admission> {
    const known = this.whyNot(subject, isCall);
    if (known !== undefined) return { kind: "refused", failure: known };
    const limits = this.#limitsOf(subject, isCall);
    if (limits.length === 0) return { kind: "admitted", allowance: UNLIMITED };
    const share = isCall ? 1 : shareOf(limits);
    const takes = limits.map((limit) => takeOf(limit, share));
    try {
      const admitted = await this.#count(takes);
      if (!admitted.isGranted) return this.#refuse(limits, takes, admitted);
      return { kind: "admitted", allowance: new LimitedAllowance(this, limits, admitted.counts, share) };
    } catch (error) {
      const message = `what principals have used cannot be counted, so nothing is begun: ${messageOf(error)}`;
      return { kind: "refused", failure: { ...buildFailure("Busy", message), retryAfterSeconds: undefined } };
    }
  }

  #limitsOf({ principal, groups = [], boundGroups = [] }: Subject, isCall: boolean): AppliedLimit[] {
    const settings = this.#options.settings();
    const configured = Object.entries(this.#options.groups()).flatMap(([group, members]) =>
      members.includes(principal) ? [group] : [],
    );
    const all = appliedLimits(settings, principal, [...new Set([...configured, ...groups, ...boundGroups])]);
    return isCall ? all.filter(({ key }) => OF_CALLS.has(key)) : all;
  }

  #refuse(
    limits: readonly AppliedLimit[],
    takes: readonly Take[],
    { counts }: Admitted,
  ): Exclude<Admission, { kind: "admitted" }> {
    const now = this.#options.clock.monotonicMs();
    let longest: { applied: AppliedLimit; count: Count } | undefined;
    let held: AppliedLimit | undefined;
    for (const [index, take] of takes.entries()) {
      const [applied, count] = [limits[index], counts[index]];
      if (applied === undefined || count === undefined || take.limit - count.used >= take.need) continue;
      if (take.span === "held") {
        held ??= applied;
        continue;
      }
      this.#remember(applied, now + count.moreInMs);
      if (longest === undefined || count.moreInMs > longest.count.moreInMs) longest = { applied, count };
    }
    if (longest !== undefined)
      return { kind: "refused", failure: busy(longest.applied, 0, longest.count.moreInMs) };
    if (held === undefined) throw new Error("a limit refused, and no count reaches it");
    return { kind: "later", afterMs: LOOK_AGAIN_MS, failure: busy(held, 0, undefined) };
  }

  #remember({ name, limit }: AppliedLimit, until: number): void {
    if (this.#usedUp.size >= MAX_REMEMBERED) this.#usedUp.clear();
    this.#usedUp.set(name, { until, limit });
  }

  /** Takes another share of calls. Resolves with why there is none. */
  async moreCalls(limits: readonly AppliedLimit[], share: number): Promise<Counted | Busy> {
    const takes = limits.map((limit) => takeOf(limit, share));
    const admitted = await this.#count(takes);
    if (admitted.isGranted) return { counts: admitted.counts };
    return this.#refuse(limits, takes, admitted).failure;
  }

  /** Counts what was used, with the next request or in a moment. */
  settle(settlements: readonly Settlement[]): void {
    this.#settlements.push(...settlements.filter(({ amount }) => amount !== 0));
    this.#settling ??= setTimeout(() => this.#flush(), SETTLE_MS).unref();
  }

  release(name: string, held: number): void {
    this.#hold(name, -held);
    this.settle([]);
  }

  /** Settles what is left. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#renewing);
    clearTimeout(this.#settling);
    this.#holds.clear();
    await this.#count([]).catch(() => {});
  }

  #hold(name: string, change: number): void {
    const held = (this.#holds.get(name) ?? 0) + change;
    if (held > 0) this.#holds.set(name, held);
    else this.#holds.delete(name);
    if (this.#holds.size === 0) {
      clearInterval(this.#renewing);
      this.#renewing = undefined;
    } else this.#renewing ??= setInterval(() => this.#flush(), RENEW_MS).unref();
  }

  #flush(): void {
    this.#count([]).catch(() => {});
  }

  /** Requests go out one after the other. Those that come meanwhile go together in the next. */
  #count(takes: readonly Take[]): Promise<Admitted> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ takes, resolve, reject });
      if (!this.#isCounting) void this.#countAll();
    });
  }

  async #countAll(): Promise<void> {
    this.#isCounting = true;
    // What comes in the same moment goes along.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      clearTimeout(this.#settling);
      this.#settling = undefined;
      const waiting = this.#waiting;
      const settle = this.#settlements;
      this.#waiting = [];
      this.#settlements = [];
      const request: CountRequest = {
        holder: this.#holder,
        holds: Object.fromEntries(this.#holds),
        settle: addedUp(settle),
        admissions: waiting.map(({ takes }) => takes),
      };
      try {
        const all = await this.#options.counters.count(request);
        for (const [index, { takes, resolve }] of waiting.entries()) {
          const admitted = all[index] ?? { isGranted: false, counts: [] };
          for (const [at, { span, name }] of takes.entries())
            if (span === "held") this.#hold(name, admitted.counts[at]?.granted ?? 0);
          resolve(admitted);
        }
      } catch (error) {
        this.#settlements.unshift(...request.settle);
        for (const { reject } of waiting) reject(error);
      }
    }
    this.#isCounting = false;
  }
}

interface Counted {
  readonly counts: readonly Count[];
}

/** Limits that single calls count against as well. */
const OF_CALLS: ReadonlySet<LimitKey> = new Set([
  "maxCallsPerMinute",
  "maxCpuSecondsPerDay",
  "maxResultBytesPerDay",
]);

function takeOf({ key, name, limit }: AppliedLimit, share: number): Take {
  const { span, unit } = KINDS[key];
  const want = key === "maxCallsPerMinute" ? share : span === "day" ? 0 : 1;
  return { name, span, limit: limit * unit, need: 1, want };
}

function shareOf(limits: readonly AppliedLimit[]): number {
  const most = limits.filter(({ key }) => key === "maxCallsPerMinute").map(({ limit }) => limit);
  return Math.max(1, Math.ceil(Math.min(...most, Number.MAX_SAFE_INTEGER) / SHARES));
}

/** @param moreInMs `undefined` where nobody knows. */
function busy({ key, setting, limit }: AppliedLimit, left: number, moreInMs: number | undefined): Busy {
  const seconds = moreInMs === undefined ? undefined : Math.max(1, Math.ceil(moreInMs / 1_000));
  const when = seconds === undefined ? "wait for one to end" : `there is more in ${seconds} s`;
  const message = `${left} of ${limit} ${KINDS[key].what} are left (${setting}); ${when}`;
  return { ...buildFailure("Busy", message), retryAfterSeconds: seconds };
}

function addedUp(settlements: readonly Settlement[]): Settlement[] {
  const sums = new Map<string, Settlement>();
  for (const each of settlements) {
    const key = JSON.stringify([each.name, each.span, each.began]);
    const sum = sums.get(key);
    sums.set(key, sum === undefined ? each : { ...sum, amount: sum.amount + each.amount });
  }
  return [...sums.values()];
}

const UNLIMITED: Allowance = {
  takeCall: async () => undefined,
  useBytes() {},
  useCpu() {},
  end() {},
};

/** What one program may use, and has used. */
class LimitedAllowance implements Allowance {
  readonly #owner: UsageLimits;
  readonly #limits: readonly AppliedLimit[];
  readonly #share: number;
  /** Calls that were taken and not made, of the minute that began then. */
  #calls = 0;
  #began = 0;
  /** When that minute is over, by `performance.now()`. */
  #over = Number.POSITIVE_INFINITY;
  #taking: Promise<Busy | undefined> | undefined;
  #bytesLeft = Number.POSITIVE_INFINITY;
  #bytesLimit: AppliedLimit | undefined;
  #hasEnded = false;

  constructor(owner: UsageLimits, limits: readonly AppliedLimit[], counts: readonly Count[], share: number) {
    this.#owner = owner;
    this.#limits = limits;
    this.#share = share;
    this.#takeShare(limits, counts);
    for (const [index, limit] of limits.entries()) {
      const left = limit.limit - (counts[index]?.used ?? 0);
      if (limit.key !== "maxResultBytesPerDay" || left >= this.#bytesLeft) continue;
      this.#bytesLeft = left;
      this.#bytesLimit = limit;
    }
  }

  get #ofCalls(): AppliedLimit[] {
    return this.#limits.filter(({ key }) => key === "maxCallsPerMinute");
  }

  async takeCall(): Promise<string | undefined> {
    if (this.#bytesLimit !== undefined && this.#bytesLeft <= 0)
      return busy(this.#bytesLimit, 0, untilTomorrow()).message;
    if (this.#ofCalls.length === 0) return undefined;
    for (;;) {
      if (performance.now() >= this.#over) this.#calls = 0;
      if (this.#calls > 0) {
        this.#calls--;
        return undefined;
      }
      this.#taking ??= this.#takeMore().finally(() => {
        this.#taking = undefined;
      });
      const failure = await this.#taking;
      if (failure !== undefined) return failure.message;
    }
  }

  async #takeMore(): Promise<Busy | undefined> {
    const limits = this.#ofCalls;
    try {
      const more = await this.#owner.moreCalls(limits, this.#share);
      if (!("counts" in more)) return more;
      this.#takeShare(limits, more.counts);
      return undefined;
    } catch (error) {
      const message = `what principals have used cannot be counted: ${messageOf(error)}`;
      return { ...buildFailure("Busy", message), retryAfterSeconds: undefined };
    }
  }

  /** Of several limits the smallest share counts, and of the others the rest is given back. */
  #takeShare(limits: readonly AppliedLimit[], counts: readonly Count[]): void {
    const shares = limits.flatMap(({ key, name }, index) => {
      const count = counts[index];
      return key === "maxCallsPerMinute" && count !== undefined ? [{ name, ...count }] : [];
    });
    if (shares.length === 0) return;
    this.#calls = Math.min(...shares.map(({ granted }) => granted));
    this.#over = performance.now() + Math.min(...shares.map(({ moreInMs }) => moreInMs));
    this.#began = shares[0]?.began ?? 0;
    this.#giveBack(shares.map(({ name, granted }) => ({ name, amount: granted - this.#calls })));
  }

  #giveBack(calls: readonly { name: string; amount: number }[]): void {
    this.#owner.settle(
      calls.map(({ name, amount }) => ({ name, span: "minute", amount: -amount, began: this.#began })),
    );
  }

  useBytes(bytes: number): void {
    this.#bytesLeft -= bytes;
    this.#use("maxResultBytesPerDay", bytes);
  }

  useCpu(ms: number): void {
    this.#use("maxCpuSecondsPerDay", Math.round(ms));
  }

  #use(used: LimitKey, amount: number): void {
    this.#owner.settle(
      this.#limits.flatMap(({ key, name }) => (key === used ? [{ name, span: "day" as const, amount }] : [])),
    );
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#giveBack(this.#ofCalls.map(({ name }) => ({ name, amount: this.#calls })));
    this.#calls = 0;
    for (const { key, name } of this.#limits) if (KINDS[key].span === "held") this.#owner.release(name, 1);
  }
}

function untilTomorrow(): number {
  const now = Date.now();
  return 86_400_000 - (now % 86_400_000);
}
