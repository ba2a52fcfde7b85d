/**
 * Counts what principals use, against limits, for one process or for all processes that share a storage. A count has a name and
 * a span. A count per `minute` or `day` (in UTC) starts again at 0 with each. A count of span `held` is what is in use now. A
 * holder repeats what it holds within `HOLD_MS`. Otherwise, for example because its process was killed, it no longer counts.
 */
export interface Counters {
  /**
   * Settles what was used, records what the holder holds, and admits. Each admission takes everything that it asks for, or
   * nothing. A holder sends one request at a time. If the answer to a request is lost, its effects may happen twice.
   *
   * @throws ArchiveError when the counts cannot be reached.
   */
  count(request: CountRequest): Promise<Admitted[]>;
}

export type Span = "minute" | "day" | "held";

export interface CountRequest {
  /** The unique name of the holder. */
  readonly holder: string;
  /** Everything that the holder holds, by name. It no longer holds anything that is missing here. */
  readonly holds: Readonly<Record<string, number>>;
  readonly settle: readonly Settlement[];
  readonly admissions: readonly (readonly Take[])[];
}

/** An amount that was used, or is given back. */
export interface Settlement {
  readonly name: string;
  readonly span: "minute" | "day";
  readonly amount: number;
  /** Applies the settlement only to the span that began then, in milliseconds since 1970. */
  readonly began?: number;
}

export interface Take {
  readonly name: string;
  readonly span: Span;
  readonly limit: number;
  /** The amount that must be left at least. */
  readonly need: number;
  /** The amount to take, or whatever is left if that is less. */
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
  /** When the span began, in milliseconds since 1970. 0 for `held`. */
  readonly began: number;
  /** The time until the next span begins. 0 for `held`, where the time is unknown. */
  readonly moreInMs: number;
}

/** How long something counts as held unless its holder repeats it. */
export const HOLD_MS = 20_000;

const SPAN_MS = { minute: 60_000, day: 86_400_000 };

/** Counts of a single process. They end with it. */
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
        used,
        began,
        moreInMs,
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

  /** Forgets counts of past spans once there are many counts. */
  #sweep(now: number): void {
    if (this.#counts.size < 10_000) return;
    for (const [key, { began }] of this.#counts) {
      const span = key.startsWith("minute ") ? "minute" : "day";
      if (began + SPAN_MS[span] <= now) this.#counts.delete(key);
    }
  }
}
