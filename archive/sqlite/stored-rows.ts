import * as z from "zod/mini";
import { Instant } from "../bounds.ts";
import type { ChainEnd } from "../chain.ts";
import type { DamagedRun } from "../listed-run.ts";
import {
  damagedRun,
  type StoredEntry,
  type StoredRows,
  type StoredRun,
  type StoredText,
} from "../verification.ts";
import { readBlob } from "./blobs.ts";
import { readChainEnd } from "./chain-ends.ts";
import type { Database, ParsedRow, SqlValue } from "./database.ts";

const RunRow = z.looseObject({
  id: z.int(),
  run_id: z.string(),
  record_digest: z.string(),
  previous: z.string(),
  link: z.string(),
  imported_at: z.nullable(Instant),
  origin: z.nullable(z.string()),
});

const ToolRow = z.object({
  tool: z.string(),
  server: z.string(),
  started_at: z.int(),
  replay: z.int().check(z.gte(0), z.lte(1)),
  calls: z.int(),
  failed_calls: z.int(),
  duration_ms: z.number(),
  result_bytes: z.int(),
});

const EntryRow = z.object({
  id: z.int(),
  run_id: z.nullable(z.string()),
  entry: z.nullable(z.string()),
  record_digest: z.nullable(z.string()),
  imported_at: z.nullable(z.int()),
  origin: z.nullable(z.string()),
  previous: z.nullable(z.string()),
  statement: z.nullable(z.string()),
});
type EntryRow = z.infer<typeof EntryRow>;

const Check = z.object({ quick_check: z.string() });
const Previous = z.object({ previous: z.string() });
const BlobRow = z.object({ hex: z.string(), in_runs: z.int(), held: z.int() });

const PAGE = 1_000;

/** The rows of an archive in SQLite. Use it within `Database.reading`, so that all rows are of one state. */
export class SqliteRows implements StoredRows {
  readonly place: string;
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    this.place = db.path;
  }

  async faults(): Promise<string[]> {
    return this.#db
      .all(Check, "PRAGMA quick_check(10)")
      .filter(({ quick_check }) => quick_check !== "ok")
      .map(({ quick_check }) => `the file is damaged: ${quick_check}`);
  }

  async chainEnd(name: "start" | "head"): Promise<ChainEnd> {
    return readChainEnd(this.#db, name);
  }

  async *entries(): AsyncGenerator<StoredEntry> {
    let after: SqlValue = -1;
    for (;;) {
      const page: ParsedRow<EntryRow>[] = this.#db.allParsed(
        EntryRow,
        `SELECT id, run_id, NULL AS entry, record_digest, imported_at, origin, previous, NULL AS statement FROM runs WHERE id > ?
         UNION ALL SELECT id, NULL, entry, NULL, NULL, NULL, NULL, NULL FROM tombstones WHERE id > ?
         UNION ALL SELECT id, NULL, NULL, NULL, NULL, NULL, previous, statement FROM prunings WHERE id > ?
         ORDER BY id LIMIT ?`,
        ...[after, after, after, PAGE],
      );
      for (const each of page) {
        if (each.ok) yield toEntry(each.row);
        else yield { kind: "damaged", message: damagedRun(each.raw.run_id, each.columns).message };
      }
      const last = page.at(-1);
      if (last === undefined) return;
      const reached = (last.ok ? last.row.id : last.raw.id) ?? null;
      // If a damaged file returned rows out of the order of their ids, this loop would never end.
      if (!(Number(reached) > Number(after))) {
        yield { kind: "damaged", message: "the file is damaged: its rows are not in the order of their ids" };
        return;
      }
      after = reached;
    }
  }

  async previousAt(place: number): Promise<string | undefined> {
    const select =
      "SELECT previous FROM runs WHERE id = ? UNION ALL SELECT previous FROM prunings WHERE id = ?";
    return this.#db.get(Previous, select, place, place)?.previous;
  }

  async run(runId: string): Promise<StoredRun | { damaged: DamagedRun } | undefined> {
    const [found] = this.#db.allParsed(RunRow, "SELECT * FROM runs WHERE run_id = ?", runId);
    if (found === undefined) return undefined;
    if (!found.ok) return { damaged: damagedRun(found.raw.run_id, found.columns) };
    const { id: place, record_digest: recordDigest, imported_at: importedAt, ...row } = found.row;
    const { previous, link, origin, ...columns } = row;
    const tools = this.#db.allParsed(
      ToolRow,
      `SELECT name AS tool, server, started_at, replay, calls, failed_calls, duration_ms, result_bytes
       FROM run_tools JOIN tools ON tools.id = run_tools.tool WHERE run = ?`,
      place,
    );
    const references = this.#db.all(
      z.object({ hex: z.string() }),
      "SELECT lower(hex(digest)) AS hex FROM run_blobs JOIN blobs ON blobs.id = blob WHERE run = ?",
      place,
    );
    return {
      place,
      previous,
      link,
      recordDigest,
      importedAt,
      origin,
      columns,
      tools: tools.map((each) => {
        if (!each.ok) return undefined;
        const { replay, ...counts } = each.row;
        return { ...counts, isReplay: replay === 1 };
      }),
      references: references.map(({ hex }) => `sha256:${hex}`),
    };
  }

  readText = async (digest: string) => readBlob(this.#db, digest);

  async *texts(): AsyncGenerator<StoredText> {
    const rows = this.#db.all(
      BlobRow,
      `SELECT lower(hex(digest)) AS hex, EXISTS (SELECT 1 FROM run_blobs WHERE blob = blobs.id) AS in_runs,
         EXISTS (SELECT 1 FROM held_blobs WHERE blob = blobs.id) AS held
       FROM blobs`,
    );
    for (const { hex, in_runs, held } of rows)
      yield {
        digest: `sha256:${hex}`,
        keptFor: in_runs === 1 ? "run" : held === 1 ? "unfinished" : "nothing",
      };
  }
}

function toEntry({ id: place, previous, ...row }: EntryRow): StoredEntry {
  if (row.entry !== null) return { kind: "pruned", place, entry: row.entry };
  if (row.statement !== null)
    return { kind: "pruning", place, previous: previous ?? "", statement: row.statement };
  const entry = { recordDigest: row.record_digest ?? "", importedAt: row.imported_at, origin: row.origin };
  return { kind: "run", place, previous: previous ?? "", runId: row.run_id ?? "", entry };
}
