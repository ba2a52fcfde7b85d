import * as z from "zod/mini";
import { matchesPattern } from "../protocol/tool-pattern.ts";
import type { Database, SqlValue } from "./database.ts";

/** A run as lists show it. Read from the index alone: `readRun` is what checks it. */
export const ListedRun = z.object({
  run_id: z.string(),
  input_digest: z.string(),
  started_at: z.int(),
  source: z.string(),
  principal: z.string(),
  /** `ok`, or the type of the failure. */
  status: z.string(),
  duration_ms: z.int(),
  calls: z.int(),
  failed_calls: z.int(),
  result_bytes: z.int(),
  returned_bytes: z.int(),
  redactions: z.int(),
  file_name: z.string(),
  title: z.string(),
  imported_at: z.nullable(z.int()),
  origin: z.nullable(z.string()),
});
export type ListedRun = z.infer<typeof ListedRun>;

export interface RunFilter {
  /** `ok`, `failed`, or a type of failure. */
  status?: string;
  source?: string;
  /** Runs that called a tool which this pattern matches, `*` for any characters. */
  tool?: string;
  /** Runs that called a tool of this server, by its configured name. */
  server?: string;
  /** Started then or later. */
  sinceMs?: number;
  /** Started before then. */
  untilMs?: number;
  inputDigest?: string;
  runId?: string;
  /** The last run of the page before. */
  before?: { startedAt: number; runId: string };
  limit: number;
}

const COLUMNS = Object.keys(ListedRun.shape)
  .map((column) => `runs.${column}`)
  .join(", ");

const ToolRow = z.object({ id: z.int(), name: z.string(), server: z.string() });

/**
 * Runs that match, the newest first.
 *
 * @throws ArchiveError
 */
export function listRuns(db: Database, filter: RunFilter): ListedRun[] {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const where = (condition: string, ...given: SqlValue[]) => {
    conditions.push(condition);
    values.push(...given);
  };
  if (filter.status === "failed") where("status <> 'ok'");
  else if (filter.status !== undefined) where("status = ?", filter.status);
  if (filter.source !== undefined) where("source = ?", filter.source);
  if (filter.sinceMs !== undefined) where("started_at >= ?", filter.sinceMs);
  if (filter.untilMs !== undefined) where("started_at < ?", filter.untilMs);
  if (filter.inputDigest !== undefined) where("input_digest = ?", filter.inputDigest);
  if (filter.runId !== undefined) where("run_id = ?", filter.runId);
  if (filter.before !== undefined) {
    const { startedAt, runId } = filter.before;
    where("(started_at, id) < (?, (SELECT id FROM runs WHERE run_id = ?))", startedAt, runId);
  }
  if (filter.tool !== undefined || filter.server !== undefined) {
    const tools = toolsMatching(db, filter);
    if (tools.length === 0) return [];
    where(
      `EXISTS (SELECT 1 FROM run_tools WHERE run = runs.id AND tool IN (SELECT value FROM json_each(?)))`,
      JSON.stringify(tools),
    );
  }
  const matching = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  return db.all(
    ListedRun,
    `SELECT ${COLUMNS} FROM runs ${matching} ORDER BY started_at DESC, id DESC LIMIT ?`,
    ...values,
    filter.limit,
  );
}

function toolsMatching(db: Database, { tool, server }: RunFilter): number[] {
  const known = db.all(ToolRow, "SELECT id, name, server FROM tools");
  return known
    .filter((each) => server === undefined || each.server === server)
    .filter((each) => tool === undefined || matchesPattern(tool, each.name))
    .map(({ id }) => id);
}
