/**
 * Counts what principals use, against limits, for one process or for all that share a storage. A count has a name and a span: of a
 * `minute` and a `day` (both of UTC) it begins anew with each, and `held` is what is in use now. Whoever holds something says so
 * again within `HOLD_MS`; else it counts no longer, as when its process was killed.
 */
export interface Counters {
  /**
   * Settles what was used, says what the holder holds, and admits: each admission takes all that it asks for, or nothing. The
   * holder sends one request after the other. What a request has done whose answer is lost may be done twice.
   *
   * @throws ArchiveError when the counts cannot be reached.
   */
  count(request: CountRequest): Promise<Admitted[]>;
}

export type Span = "minute" | "day" | "held";

export interface CountRequest {
  /** Who holds what `holds` says, by a name that nobody else has. */
  readonly holder: string;
  /** All that the holder holds, by name. What is missing it holds no longer. */
  readonly holds: Readonly<Record<string, number>>;
  readonly settle: readonly Settlement[];
  readonly admissions: readonly (readonly Take[])[];
}

/** What was used, or is given back. */
export interface Settlement {
  readonly name: string;
  readonly span: "minute" | "day";
  readonly amount: number;
  /** Counts only while the span is still the one that began then, in milliseconds since 1970. */
  readonly began?: number;
}

export interface Take {
  readonly name: string;
  readonly span: Span;
  readonly limit: number;
  /** At least so much must be left. */
  readonly need: number;
  /** So much is taken, or what is left where that is less. */
  readonly want: number;
}

export interface Admitted {
  readonly isGranted: boolean;
  /** In the order of the takes. */
  readonly counts: readonly Count[];
}

export interface Count {
  /** Before anything was taken. */
  readonly used: number;
  readonly granted: number;
  /** When the span began, in milliseconds since 1970; 0 for `held`. */
  readonly began: number;
  /** Until the next span begins; 0 for `held`, of which nobody knows. */
  readonly moreInMs: number;
}

/** How long something counts as held that is not said again. */
export const HOLD_MS = 20_000;

const SPAN_MS = { minute: 60_000, day: 86_400_000 };

/** Counts of one process alone, which end with it. */
export class MemoryCounters implements Counters {
  readonly #wallMs: () => number;
  readonly #counts = new Map<string, { began: number; used: number }>();
  #holds: Record<string, number> = {};

  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
  }

  async count({ holds, settle, admissions }: CountRequest): Promise<Admitted[]> {
    const now = this.#wallMs();
    this.#sweep(now);
    this.#holds = { ...holds };
    for (const { name, span, amount, began } of settle) {
      const count = this.#of(name, span, now);
      if (began === undefined || began === count.began) count.used += amount;
    }
    return admissions.map((takes) => this.#admit(takes, now));
  }

  #admit(takes: readonly Take[], now: number): Admitted {
    const found = takes.map((take) => {
      const { name, span, limit, need, want } = take;
      const { used, began } =
        span === "held" ? { used: this.#holds[name] ?? 0, began: 0 } : this.#of(name, span, now);
      const left = limit - used;
      const moreInMs = span === "held" ? 0 : began + SPAN_MS[span] - now;
      return {
        take,
        used,
        began,
        moreInMs,
        isEnough: left >= need,
        granted: Math.max(0, Math.min(want, left)),
      };
    });
    const isGranted = found.every(({ isEnough }) => isEnough);
    if (isGranted)
      for (const { take, granted } of found) {
        if (take.span === "held") this.#holds[take.name] = (this.#holds[take.name] ?? 0) + granted;
        else this.#of(take.name, take.span, now).used += granted;
      }
    return {
      isGranted,
      counts: found.map(({ used, granted, began, moreInMs }) => ({
        ...{ used, began, moreInMs },
        granted: isGranted ? granted : 0,
      })),
    };
  }

  #of(name: string, span: "minute" | "day", now: number): { began: number; used: number } {
    const key = `${span} ${name}`;
    const began = now - (now % SPAN_MS[span]);
    let count = this.#counts.get(key);
    if (count === undefined || count.began !== began) {
      count = { began, used: 0 };
      this.#counts.set(key, count);
    }
    return count;
  }

  /** Forgets what is over, once there is much of it. */
  #sweep(now: number): void {
    if (this.#counts.size < 10_000) return;
    for (const [key, { began }] of this.#counts) {
      const span = key.startsWith("minute ") ? "minute" : "day";
      if (began + SPAN_MS[span] <= now) this.#counts.delete(key);
    }
  }
}
