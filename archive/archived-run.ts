import { ArchiveError } from "./archive-error.ts";
import type { ChainEntry } from "./chain.ts";
import {
  type ReadText,
  RecordProblem,
  type RunContents,
  readArguments,
  readOutcome,
  textUnder,
} from "./run-contents.ts";
import type { ArchivedOutcome, CallRecord, RunRecord } from "./run-record.ts";

/** A run that was checked against its digests. The values of its calls, which may be large, are read on demand. */
export interface ArchivedRun extends RunContents, ChainEntry {
  record: RunRecord;
  /** @throws ArchiveError `tampered` when it was changed since the run was read. */
  argumentsOf(call: CallRecord): Promise<unknown>;
  /** @throws ArchiveError `tampered` when it was changed since the run was read. */
  outcomeOf(call: CallRecord): Promise<ArchivedOutcome>;
  /** The JSON text that the record names by this digest. @throws ArchiveError `tampered` when it was changed since. */
  textOf(digest: string): Promise<string>;
}

/**
 * Adds methods that read the values of a checked run.
 *
 * @param read returns a text, checked against its digest.
 */
export function withValues(
  run: RunContents & ChainEntry & { record: RunRecord },
  read: (digest: string) => Promise<ReturnType<ReadText>>,
): ArchivedRun {
  const { run_id: runId } = run.record;
  const reading = async <T>(digest: string, parse: (text: ReadText) => T): Promise<T> => {
    const text = await read(digest);
    return namingRun(runId, () => parse(() => text));
  };
  return {
    ...run,
    argumentsOf: (call) => reading(call.arguments, (text) => readArguments(call, text)),
    outcomeOf: (call) => reading(call.outcome, (text) => readOutcome(call, text)),
    textOf: (digest) => reading(digest, (text) => textUnder(digest, text)),
  };
}

/**
 * Runs `work` on one run. A problem with its record becomes an error that names the run. @throws ArchiveError `tampered`
 */
export function namingRun<T>(runId: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RecordProblem)) throw error;
    const message = `run ${runId} is not as it was archived: ${error.message}; do not trust it`;
    throw new ArchiveError("tampered", message, error);
  }
}
