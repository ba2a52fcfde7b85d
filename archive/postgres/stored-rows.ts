import * as z from "zod/mini";
import type { TextRead } from "../archived-run.ts";
import { Instant } from "../bounds.ts";
import type { ChainEnd } from "../chain.ts";
import type { DamagedRun } from "../listed-run.ts";
import { decodeText, digestBytes } from "../stored-text.ts";
import {
  damagedRun,
  type StoredEntry,
  type StoredRows,
  type StoredRun,
  type StoredText,
} from "../verification.ts";
import { readChainEnd } from "./chain-ends.ts";
import { fromStored, type ParsedRow, type Statements, StoredText as Text } from "./database.ts";
import { RUN_DAY_CONDITION, RUN_DAY_SUMS, TOOL_DAY_CONDITION, TOOL_DAY_SUMS } from "./schema.ts";

const RunRow = z.looseObject({
  id: z.int(),
  run_id: z.string(),
  record_digest: z.string(),
  previous: z.string(),
  link: z.string(),
  imported_at: z.nullable(Instant),
  origin: z.nullable(Text),
});

const ToolRow = z.object({
  tool: Text,
  server: Text,
  started_at: z.int(),
  replay: z.boolean(),
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
  origin: z.nullable(Text),
  previous: z.nullable(z.string()),
  statement: z.nullable(z.string()),
});
type EntryRow = z.infer<typeof EntryRow>;

const Previous = z.object({ previous: z.string() });
const Bytes = z.instanceof(Uint8Array);
const BlobRow = z.object({ digest: Bytes, codec: z.int(), size: z.int(), content: Bytes });
const KeptRow = z.object({ id: z.int(), digest: Bytes, in_runs: z.boolean(), held: z.boolean() });
const DigestRow = z.object({ digest: Bytes });
const Day = z.object({ day: z.int() });

const PAGE = 1_000;

/** The most bytes of values that are read together with a run, to save round trips. */
const MAX_AHEAD_BYTES = 8 * 1024 * 1024;

const BLOB = "digest, codec, size, content";

/** Renders the bytes of a digest. */
function digestFrom(bytes: Uint8Array): string {
  return `sha256:${Buffer.from(bytes).toString("hex")}`;
}

/** Reads a text and compares it with its digest. */
export async function readBlob(db: Statements, digest: string): Promise<TextRead> {
  const row = await db.get(
    BlobRow,
    `SELECT ${BLOB} FROM blobs WHERE digest = $1 LIMIT 1`,
    digestBytes(digest),
  );
  return row === undefined ? { ok: false, problem: "is missing" } : decodeText(row, digest);
}

/** The rows of an archive in PostgreSQL. Use it within `PgDatabase.snapshot`, so that all rows are of one state. */
export class PostgresRows implements StoredRows {
  readonly place: string;
  readonly #db: Statements;
  /** Values that the last run refers to, read ahead. */
  #ahead = new Map<string, z.infer<typeof BlobRow>>();

  constructor(db: Statements) {
    this.#db = db;
    this.place = db.place;
  }

  /** Compares the sums of days with their runs. No other check reads these sums. */
  async faults(): Promise<string[]> {
    const runs = await this.#db.all(
      Day,
      `WITH counted AS (SELECT ${RUN_DAY_SUMS} FROM runs WHERE ${RUN_DAY_CONDITION} GROUP BY 1, 2), ${difference("run_days")}`,
    );
    const tools = await this.#db.all(
      Day,
      `WITH counted AS (SELECT ${TOOL_DAY_SUMS} FROM run_tools WHERE ${TOOL_DAY_CONDITION} GROUP BY 1, 2), ${difference("tool_days")}`,
    );
    const days = [...new Set([...runs, ...tools].map(({ day }) => day))].sort((a, b) => a - b);
    return days.map(
      (day) =>
        `the sums of ${new Date(day * 86_400_000).toISOString().slice(0, 10)} differ from the sums of its runs`,
    );
  }

  chainEnd(name: "start" | "head"): Promise<ChainEnd> {
    return readChainEnd(this.#db, name);
  }

  async *entries(): AsyncGenerator<StoredEntry> {
    let after = -1;
    for (;;) {
      const page: ParsedRow<EntryRow>[] = await this.#db.allParsed(
        EntryRow,
        `(SELECT id, run_id, NULL AS entry, record_digest, imported_at, origin, previous, NULL AS statement
            FROM runs WHERE id > $1 ORDER BY id LIMIT $2)
         UNION ALL (SELECT id, NULL, entry, NULL, NULL, NULL, NULL, NULL FROM tombstones WHERE id > $1 ORDER BY id LIMIT $2)
         UNION ALL (SELECT id, NULL, NULL, NULL, NULL, NULL, previous, statement FROM prunings WHERE id > $1 ORDER BY id LIMIT $2)
         ORDER BY id LIMIT $2`,
        ...[after, PAGE],
      );
      for (const each of page) {
        if (each.ok) yield toEntry(each.row);
        else yield { kind: "damaged", message: damagedRun(each.raw.run_id, each.columns).message };
      }
      const last = page.at(-1);
      if (last === undefined) return;
      after = Number(last.ok ? last.row.id : last.raw.id);
    }
  }

  async previousAt(place: number): Promise<string | undefined> {
    const select =
      "SELECT previous FROM runs WHERE id = $1 UNION ALL SELECT previous FROM prunings WHERE id = $1";
    return (await this.#db.get(Previous, select, place))?.previous;
  }

  async run(runId: string): Promise<StoredRun | { damaged: DamagedRun } | undefined> {
    const [found] = await this.#db.allParsed(RunRow, "SELECT * FROM runs WHERE run_id = $1", runId);
    if (found === undefined) return undefined;
    if (!found.ok) return { damaged: damagedRun(found.raw.run_id, found.columns) };
    const { id: place, record_digest: recordDigest, imported_at: importedAt, month: _, ...row } = found.row;
    const { previous, link, origin, ...columns } = row;
    const tools = await this.#db.allParsed(
      ToolRow,
      `SELECT name AS tool, server, started_at, replay, calls, failed_calls, duration_ms, result_bytes
       FROM run_tools JOIN tools ON tools.id = run_tools.tool WHERE run = $1`,
      place,
    );
    const references = await this.#db.all(
      DigestRow,
      "SELECT digest FROM run_blobs JOIN blobs ON blobs.id = blob WHERE run = $1",
      place,
    );
    await this.#readAhead(place);
    return {
      place,
      previous,
      link,
      recordDigest,
      importedAt,
      origin,
      columns: Object.fromEntries(
        Object.entries(columns).map(([name, value]) => [
          name,
          typeof value === "string" ? fromStored(value) : value,
        ]),
      ),
      tools: tools.map((each) => {
        if (!each.ok) return undefined;
        const { replay: isReplay, ...counts } = each.row;
        return { ...counts, isReplay };
      }),
      references: references.map(({ digest }) => digestFrom(digest)),
    };
  }

  readText = async (digest: string): Promise<TextRead> => {
    const row = this.#ahead.get(digest);
    return row === undefined ? readBlob(this.#db, digest) : decodeText(row, digest);
  };

  async *texts(): AsyncGenerator<StoredText> {
    for (let after = 0; ; ) {
      const page = await this.#db.all(
        KeptRow,
        `SELECT id, digest, EXISTS (SELECT FROM run_blobs WHERE blob = blobs.id) AS in_runs,
           EXISTS (SELECT FROM held_blobs WHERE blob = blobs.id) AS held
         FROM blobs WHERE id > $1 ORDER BY id LIMIT $2`,
        ...[after, PAGE],
      );
      for (const { digest, in_runs, held } of page)
        yield { digest: digestFrom(digest), keptFor: in_runs ? "run" : held ? "unfinished" : "nothing" };
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.id;
    }
  }

  async #readAhead(place: number): Promise<void> {
    const rows = await this.#db.allParsed(
      BlobRow,
      `SELECT ${BLOB} FROM (
         SELECT ${BLOB}, sum(length(content)) OVER (ORDER BY length(content), blobs.id) AS bytes
         FROM run_blobs JOIN blobs ON blobs.id = blob WHERE run = $1
       ) AS kept WHERE bytes <= ${MAX_AHEAD_BYTES}`,
      place,
    );
    this.#ahead = new Map(rows.flatMap((each) => (each.ok ? [[digestFrom(each.row.digest), each.row]] : [])));
  }
}

/** SQL of the days whose stored sums differ from the counted ones. */
function difference(table: string): string {
  return `differing AS (
    (SELECT * FROM ${table} EXCEPT SELECT * FROM counted) UNION ALL (SELECT * FROM counted EXCEPT SELECT * FROM ${table})
  ) SELECT DISTINCT day FROM differing ORDER BY day LIMIT 10`;
}

function toEntry({ id: place, previous, ...row }: EntryRow): StoredEntry {
  if (row.entry !== null) return { kind: "pruned", place, entry: row.entry };
  if (row.statement !== null)
    return { kind: "pruning", place, previous: previous ?? "", statement: row.statement };
  const entry = { recordDigest: row.record_digest ?? "", importedAt: row.imported_at, origin: row.origin };
  return { kind: "run", place, previous: previous ?? "", runId: row.run_id ?? "", entry };
}
