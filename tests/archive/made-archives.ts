import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { ArchiveError } from "../../archive/archive-error.ts";
import type { ArchiveResult, KeptHead, RunArchiver } from "../../archive/archive-store.ts";
import { openForWriting } from "../../archive/sqlite/connection.ts";
import type { Database } from "../../archive/sqlite/database.ts";
import { storeRun } from "../../archive/sqlite/store-run.ts";
import { type SampleOptions, sampleRun, temporaryFolder } from "./sample-runs.ts";

/** Names paths in a folder for the archives of one test file. The folder goes when its tests are done. */
export function useFolder(): (...names: string[]) => string {
  const { path, remove } = temporaryFolder();
  afterAll(remove);
  return (...names) => join(path, ...names);
}

/** Stores a run and returns its id. */
export function storeSample(db: Database, options: SampleOptions = {}): string {
  const { run, calls } = sampleRun(options);
  storeRun(db, run, calls);
  return run.facts.run_id;
}

/** Hands a whole run to a writer. */
export async function archiveRun(
  writer: RunArchiver,
  { run, calls }: ReturnType<typeof sampleRun>,
): Promise<ArchiveResult> {
  const recording = writer.begin(run.facts.run_id);
  for (const call of calls) await recording.addCall(call);
  return recording.finish(run);
}

/** Makes an archive of a few runs, and returns their ids. */
export function makeArchive(path: string, runs = 1): string[] {
  const db = openForWriting(path);
  const ids = Array.from({ length: runs }, (_, i) =>
    storeSample(db, { code: `run(${i})`, answer: (seq) => `${i}.${seq}` }),
  );
  db.close();
  return ids;
}

/** A head as somebody keeps it elsewhere, of its text. */
export function parseHead(text: string): KeptHead & { id: number } {
  const [id, ...link] = text.split(":");
  return { id: Number(id), link: link.join(":") };
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
