import * as z from "zod/mini";
import { ArchiveError } from "../archive-error.ts";
import type { Facts, Noted, SharedFacts } from "../shared-facts.ts";
import { type PgDatabase, patiently } from "./database.ts";

/** How long to retry while the server cannot be reached. Programs wait for it before they begin. */
const PATIENCE_MS = 10_000;
/** How often to remove what is forgotten. */
const SWEEP_MS = 3_600_000;

const Row = z.object({ facts: z.string() });
const Found = z.record(z.string(), z.string());

/** Facts in PostgreSQL, one row for each name, by its clock. */
export class PostgresFacts implements SharedFacts {
  readonly #db: PgDatabase;
  #sweepAt = performance.now() + SWEEP_MS;

  constructor(db: PgDatabase) {
    this.#db = db;
  }

  async note(name: string, { facts, remove = [], keepMs }: Noted): Promise<Facts> {
    this.#sweep();
    // The time of a name only grows, because processes may keep it for different times.
    const note = `INSERT INTO shared_facts AS own (name, facts, until)
      VALUES ($1, $2::text::jsonb, now() + $4::float8 * interval '1 millisecond')
      ON CONFLICT (name) DO UPDATE SET
        facts = (CASE WHEN own.until < now() THEN '{}'::jsonb ELSE own.facts END || excluded.facts)
          - ARRAY(SELECT jsonb_array_elements_text($3::text::jsonb)),
        until = greatest(own.until, excluded.until)
      RETURNING facts::text AS facts`;
    return this.#facts(note, name, JSON.stringify(facts), JSON.stringify(remove), keepMs);
  }

  async read(name: string): Promise<Facts> {
    return this.#facts(
      "SELECT facts::text AS facts FROM shared_facts WHERE name = $1 AND until >= now()",
      name,
    );
  }

  async #facts(statement: string, ...values: (string | number)[]): Promise<Facts> {
    const row = await patiently(() => this.#db.get(Row, statement, ...values), PATIENCE_MS);
    if (row === undefined) return {};
    const parsed = Found.safeParse(JSON.parse(row.facts));
    if (parsed.success) return parsed.data;
    throw new ArchiveError("corrupt", `${this.#db.place} holds facts that ptc cannot read: it is damaged`);
  }

  #sweep(): void {
    const now = performance.now();
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + SWEEP_MS;
    this.#db.run("DELETE FROM shared_facts WHERE until < now() - interval '1 minute'").catch(() => {});
  }
}
