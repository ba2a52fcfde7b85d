import { RecentlyUsed } from "./recently-used.ts";

/** How much may be taken at once, and how much of that comes back in a second. */
interface Rate {
  burst: number;
  perSecond: number;
}

interface Bucket {
  left: number;
  /** On the clock of the allowance, in milliseconds. */
  at: number;
}

const MAX_KNOWN = 10_000;

/**
 * Says whether somebody may do once more what costs others something: within a rate of their own, and within one of all together. Who
 * has used up their own takes nothing of what is for all (token bucket).
 */
export class Allowance {
  readonly #each: Rate;
  readonly #all: Rate;
  readonly #nowMs: () => number;
  readonly #known = new RecentlyUsed<string, Bucket>({ maxEntries: MAX_KNOWN });
  readonly #together: Bucket;

  constructor(each: Rate, all: Rate, nowMs: () => number = () => performance.now()) {
    this.#each = each;
    this.#all = all;
    this.#nowMs = nowMs;
    this.#together = { left: all.burst, at: nowMs() };
  }

  take(who: string): boolean {
    const own = this.#known.get(who) ?? { left: this.#each.burst, at: this.#nowMs() };
    this.#known.set(who, own);
    this.#fill(own, this.#each);
    this.#fill(this.#together, this.#all);
    if (own.left < 1 || this.#together.left < 1) return false;
    own.left--;
    this.#together.left--;
    return true;
  }

  #fill(bucket: Bucket, { burst, perSecond }: Rate): void {
    const now = this.#nowMs();
    bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
  }
}
