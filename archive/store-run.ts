import { canonicalJson } from "../protocol/canonical-json.ts";
import { appendRun } from "./append-run.ts";
import { ArchiveError } from "./archive-error.ts";
import { putBlob } from "./blobs.ts";
import type { Database } from "./database.ts";
import type { HandedCall, HandedRun } from "./handed-run.ts";
import { type CallFacts, type CallRecord, findMisplaced, RunRecord } from "./run-record.ts";
import { summarizeRun } from "./run-summary.ts";

/** A call that waits for the end of its run: with its texts, or with the blobs they already are. */
export type PendingCall = HandedCall | HeldCall;

interface HeldCall {
  facts: CallFacts;
  held: { arguments: Blob; outcome: Blob };
}

interface Blob {
  digest: string;
  id: number;
}

/**
 * Stores a run that has ended, in one transaction: all of it or nothing. Returns the digest of its record.
 *
 * @throws ArchiveError
 */
export function storeRun(db: Database, run: HandedRun, calls: readonly PendingCall[]): string {
  const { facts, envelope } = run;
  if (envelope.run_id !== facts.run_id || envelope.input_digest !== facts.input_digest) {
    throw new ArchiveError("failed", `the envelope handed over for run ${facts.run_id} is another run's`);
  }
  return db.transaction(() => {
    const blobIds = new Set<number>();
    const put = (json: string): string => {
      const { digest, id } = putBlob(db, json);
      blobIds.add(id);
      return digest;
    };
    const record: RunRecord = {
      format: 1,
      ...facts,
      code: put(JSON.stringify(run.code)),
      data: put(run.dataJson),
      console: put(JSON.stringify(run.consoleText)),
      envelope: put(JSON.stringify(envelope)),
      environment: put(run.environmentJson),
      modules: run.modules.map(({ module, text }) => ({ module, digest: put(JSON.stringify(text)) })),
      calls: calls.map((call) => storeCall(db, call, blobIds)).sort((a, b) => a.seq - b.seq),
    };
    checkRecord(record);
    const digest = appendRun(db, record, summarizeRun(record, run), blobIds);
    db.run("DELETE FROM held_blobs WHERE run_id = ?", facts.run_id);
    return digest;
  });
}

/**
 * Stores the values of calls whose run goes on, so that they need not be kept in memory. Held for that run: they are
 * swept when it never ends.
 */
export function holdCalls(
  db: Database,
  runId: string,
  calls: readonly PendingCall[],
  nowMs: number,
): PendingCall[] {
  return db.transaction(() =>
    calls.map((call) => {
      if ("held" in call) return call;
      const held = { arguments: putArguments(db, call), outcome: putBlob(db, call.outcomeJson) };
      for (const { id } of Object.values(held)) {
        const hold = "INSERT INTO held_blobs (run_id, blob, held_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
        db.run(hold, runId, id, nowMs);
      }
      return { facts: call.facts, held };
    }),
  );
}

function storeCall(db: Database, call: PendingCall, blobIds: Set<number>): CallRecord {
  const blobs =
    "held" in call
      ? call.held
      : { arguments: putArguments(db, call), outcome: putBlob(db, call.outcomeJson) };
  blobIds.add(blobs.arguments.id).add(blobs.outcome.id);
  return { ...call.facts, arguments: blobs.arguments.digest, outcome: blobs.outcome.digest };
}

/** Arguments are kept in canonical form: the digest that a replay finds them by is then the digest of their blob. */
function putArguments(db: Database, call: HandedCall): Blob {
  return putBlob(db, canonicalJson(JSON.parse(call.argumentsJson)));
}

/** What no reader would accept is not written: it would count as tampered with. */
function checkRecord(record: RunRecord): void {
  const [issue] = RunRecord.safeParse(record).error?.issues ?? [];
  const twice = findMisplaced(record.calls);
  if (issue === undefined && twice === undefined) return;
  const what = issue === undefined ? `two calls ${twice?.seq}` : `a wrong ${issue.path.join(".")}`;
  const message = `run ${record.run_id} was handed over with ${what}: it was not archived`;
  throw new ArchiveError("failed", message);
}
