import * as z from "zod/mini";
import { matchesPattern } from "../../../protocol/tools/tool-pattern.ts";
import { ListedRun, type PageFilter, type RunFilter, type RunPage } from "../../reading/listed-run.ts";
import type { Database, SqlValue } from "../file/database.ts";
import { damagedRow } from "./damaged-row.ts";

const COLUMNS = Object.keys(ListedRun.shape)
  .map((column) => `runs.${column}`)
  .join(", ");

const ToolRow = z.object({ id: z.int(), name: z.string(), server: z.string() });

/**
 * A page of the matching runs, newest first, and those among them that cannot be listed.
 *
 * @throws ArchiveError
 */
export function listRunPage(db: Database, filter: PageFilter): RunPage {
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
  if (filter.clientSession !== undefined)
    where("substr(client_session, 1, length(?)) = ?", filter.clientSession, filter.clientSession);
  if (filter.user !== undefined) where("user = ?", filter.user);
  if (filter.host !== undefined) where("host = ?", filter.host);
  if (filter.client !== undefined) where("client = ?", filter.client);
  if (filter.runId !== undefined) where("run_id = ?", filter.runId);
  if (filter.before !== undefined) {
    where("(started_at, id) < (SELECT started_at, id FROM runs WHERE run_id = ?)", filter.before);
  }
  if (filter.tool !== undefined || filter.server !== undefined) {
    const tools = toolsMatching(db, filter);
    if (tools.length === 0) return { runs: [], damaged: [], next: undefined };
    where(
      `EXISTS (SELECT 1 FROM run_tools WHERE run = runs.id AND tool IN (SELECT value FROM json_each(?)))`,
      JSON.stringify(tools),
    );
  }
  const matching = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const rows = db.allParsed(
    ListedRun,
    `SELECT ${COLUMNS} FROM runs ${matching} ORDER BY started_at DESC, id DESC LIMIT ?`,
    ...values,
    filter.limit,
  );
  const last = rows.at(-1);
  const runId = last?.ok ? last.row.run_id : last?.raw.run_id;
  return {
    runs: rows.flatMap((each) => (each.ok ? [each.row] : [])),
    damaged: rows.flatMap((each) => (each.ok ? [] : [damagedRow(each.raw, each.columns)])),
    next: rows.length < filter.limit || typeof runId !== "string" ? undefined : runId,
  };
}

function toolsMatching(db: Database, { tool, server }: RunFilter): number[] {
  const known = db.all(ToolRow, "SELECT id, name, server FROM tools");
  return known
    .filter((each) => server === undefined || each.server === server)
    .filter((each) => tool === undefined || matchesPattern(tool, each.name))
    .map(({ id }) => id);
}
