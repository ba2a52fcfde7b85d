import { expect } from "vitest";
import { ArchiveError } from "../../archive/archive-error.ts";
import type { ArchiveResult, RunArchiver } from "../../archive/archive-store.ts";
import type { CallToArchive, RunToArchive } from "../../archive/build-record.ts";
import { storeRun } from "../../archive/sqlite/changes/store-run.ts";
import { openForWriting } from "../../archive/sqlite/file/connection.ts";
import { sampleRun } from "./sample-runs.ts";

/** Hands a whole run to a writer. */
export async function archiveRun(
  writer: RunArchiver,
  { run, calls }: { run: RunToArchive; calls: CallToArchive[] },
): Promise<ArchiveResult> {
  const recording = writer.begin(run.facts.run_id);
  for (const call of calls) await recording.addCall(call);
  return recording.finish(run);
}

/** Makes an archive of a few runs, and returns their ids. */
export function makeArchive(path: string, runs = 1): string[] {
  const db = openForWriting(path);
  const ids = Array.from({ length: runs }, (_, i) => {
    const { run, calls } = sampleRun({ code: `run(${i})`, answer: (seq) => `${i}.${seq}` });
    storeRun(db, run, calls);
    return run.facts.run_id;
  });
  db.close();
  return ids;
}

/** An open that must fail, in one line. */
export function refusal(open: () => unknown): ArchiveError {
  try {
    open();
  } catch (error) {
    expect(error).toBeInstanceOf(ArchiveError);
    expect((error as ArchiveError).message).not.toMatch(/\n/);
    return error as ArchiveError;
  }
  throw new Error("it was opened");
}
