import { ArchiveError, isAboutOneRun } from "../archive-error.ts";
import type { ArchiveStore } from "../archive-store.ts";
import type { ArchivedRun } from "../reading/archived-run.ts";
import type { DamagedRun } from "../reading/damaged-run.ts";
import { digestsIn } from "../run-record.ts";
import { PortableLines } from "./portable-format.ts";

export interface Exported {
  /** Ids of the runs in the file. */
  exported: string[];
  /** Damaged runs, which are not in the file. */
  damaged: DamagedRun[];
}

/**
 * Renders runs as lines in the form of `portable-format`, with line feeds. Every run is checked first, and left out when it
 * is damaged.
 *
 * @param done is filled while the lines are rendered.
 * @throws ArchiveError, also when no run is left.
 */
export async function* exportRuns(
  archive: Pick<ArchiveStore, "read">,
  runIds: Iterable<string>,
  done: Exported,
): AsyncGenerator<string> {
  const lines = new PortableLines();
  yield lines.header();
  for (const runId of new Set(runIds)) {
    const run = await readSound(archive, runId, done);
    if (run === undefined) continue;
    const { record, recordDigest } = run;
    for (const digest of digestsIn(record)) {
      if (!lines.has(digest)) yield lines.blob(digest, await textOf(run, digest));
    }
    yield lines.run(recordDigest, record);
    done.exported.push(runId);
  }
  const [first] = done.damaged;
  if (done.exported.length === 0 && first !== undefined) throw new ArchiveError("tampered", first.message);
  yield lines.end();
}

async function readSound(
  archive: Pick<ArchiveStore, "read">,
  runId: string,
  { damaged }: Exported,
): Promise<ArchivedRun | undefined> {
  try {
    return await archive.read(runId);
  } catch (error) {
    if (!isAboutOneRun(error)) throw error;
    damaged.push({ runId, message: error.message });
    return undefined;
  }
}

async function textOf(run: ArchivedRun, digest: string): Promise<string> {
  try {
    return await run.textOf(digest);
  } catch (error) {
    if (!isAboutOneRun(error)) throw error;
    const message = `run ${run.record.run_id} was changed while it was exported: start again`;
    throw new ArchiveError("tampered", message, error);
  }
}
