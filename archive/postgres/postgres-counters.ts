import * as z from "zod/mini";
import { ArchiveError } from "../archive-error.ts";
import { type Admitted, type Counters, type CountRequest, HOLD_MS } from "../counters.ts";
import { type PgDatabase, patiently } from "./database.ts";

/** How long to retry counting while the server cannot be reached. */
const PATIENCE_MS = 10_000;
/** How often to remove old counts. */
const SWEEP_MS = 3_600_000;

const Row = z.object({ admitted: z.string() });
const Answer = z.array(
  z.object({
    isGranted: z.boolean(),
    counts: z.array(z.object({ used: z.int(), granted: z.int(), began: z.int(), moreInMs: z.int() })),
  }),
);

/** Counts in PostgreSQL, by its clock. One request is one statement. */
export class PostgresCounters implements Counters {
  readonly #db: PgDatabase;
  #sweepAt = 0;

  constructor(db: PgDatabase) {
    this.#db = db;
  }

  async count({ holder, holds, settle, admissions }: CountRequest): Promise<Admitted[]> {
    this.#sweep();
    const statement = "SELECT ptc_count($1, $2, $3, $4, $5)::text AS admitted";
    const rows = await patiently(
      () =>
        this.#db.all(
          Row,
          statement,
          ...[holder, HOLD_MS, JSON.stringify(holds), JSON.stringify(settle), JSON.stringify(admissions)],
        ),
      PATIENCE_MS,
    );
    const parsed = Answer.safeParse(JSON.parse(rows[0]?.admitted ?? "null"));
    if (parsed.success) return parsed.data;
    throw new ArchiveError("corrupt", `${this.#db.place} counts what ptc cannot read: it is damaged`);
  }

  #sweep(): void {
    const now = performance.now();
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + SWEEP_MS;
    const sweep = `WITH gone AS (DELETE FROM limit_holds WHERE until < now() - interval '1 minute')
      DELETE FROM limit_counts WHERE span <> 'held' AND began < (extract(epoch FROM now()) * 1000)::bigint - 172800000`;
    this.#db.run(sweep).catch(() => {});
  }
}
