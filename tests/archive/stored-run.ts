import type { ChainEntry } from "../../archive/chain.ts";
import type { ListedRun, RunFilter } from "../../archive/listed-run.ts";
import type { RunRecord } from "../../archive/run-record.ts";
import { matchesPattern } from "../../protocol/tool-names.ts";

/** A run as `MemoryStore` has it. */
export interface StoredRun extends ChainEntry {
  record: RunRecord;
  listed: ListedRun;
}

export function matches({ record, listed }: StoredRun, filter: RunFilter): boolean {
  const { status, source, tool, server, sinceMs, untilMs, inputDigest, runId, clientSession } = filter;
  const { user, host, client } = filter;
  const called =
    (tool === undefined && server === undefined) ||
    record.calls.some(
      (call) =>
        (tool === undefined || matchesPattern(tool, call.tool)) &&
        (server === undefined || call.server === server),
    );
  return (
    called &&
    (status === undefined || (status === "failed" ? listed.status !== "ok" : listed.status === status)) &&
    (source === undefined || record.source === source) &&
    (sinceMs === undefined || record.started_at >= sinceMs) &&
    (untilMs === undefined || record.started_at < untilMs) &&
    (inputDigest === undefined || record.input_digest === inputDigest) &&
    (runId === undefined || record.run_id === runId) &&
    (user === undefined || listed.user === user) &&
    (host === undefined || listed.host === host) &&
    (client === undefined || listed.client === client) &&
    (clientSession === undefined || record.client_session?.startsWith(clientSession) === true)
  );
}
