import { ArchiveError } from "../archive-error.ts";
import type { ArchiveStore } from "../archive-store.ts";
import type { RunIntake } from "../run-intake.ts";
import {
  type PortableItem,
  type PortableSource,
  type RefusedRun,
  readPortable,
  refusal,
} from "./read-portable.ts";

export interface Imported {
  imported: string[];
  /** Runs that the archive already had, byte for byte. */
  skipped: string[];
  /** Runs of the file that were refused. */
  refused: RefusedRun[];
}

type PortableRun = Extract<PortableItem, { kind: "run" }>;

/**
 * Imports the runs of an exported file. The whole file is checked before the archive is changed. Then each run is imported
 * completely, or refused and named. Nothing in the file is used as a path or executed.
 *
 * @param nowMs milliseconds since 1970.
 * @throws ArchiveError `bad-file`; `conflict` when the archive has a run with the same id and other content.
 */
export async function importRuns(
  archive: Pick<ArchiveStore, "takeIn">,
  source: PortableSource,
  nowMs: number,
): Promise<Imported> {
  const result: Imported = { imported: [], skipped: [], refused: [] };
  const intake = await archive.takeIn({ importedAt: nowMs, origin: printable(source.origin) });
  try {
    for await (const item of readPortable(source)) {
      if (item.kind === "run") await refuseOther(intake, item);
    }
    // The second reading checks everything again, because the file may have changed.
    for await (const item of readPortable(source)) await take(item, intake, result);
    return result;
  } finally {
    await intake.end();
  }
}

async function refuseOther(intake: RunIntake, { record, digest }: PortableRun): Promise<void> {
  const known = await intake.recordDigestOf(record.run_id);
  if (known !== undefined && known !== digest) throw conflict(record.run_id);
}

async function take(item: PortableItem, intake: RunIntake, result: Imported): Promise<void> {
  if (item.kind === "blob") {
    await intake.addText(item.json);
    return;
  }
  if (item.kind === "refused") {
    result.refused.push(item.run);
    return;
  }
  const { run_id: runId } = item.record;
  const taken = await intake.addRun(item.record, item.digest);
  switch (taken.kind) {
    case "added":
      result.imported.push(runId);
      return;
    case "known":
      result.skipped.push(runId);
      return;
    case "conflict":
      throw conflict(runId);
    case "refused":
      result.refused.push({ runId, message: refusal(`run ${runId}`, taken.problem) });
      return;
  }
}

function conflict(runId: string): ArchiveError {
  const message = `run ${runId} is in the archive with other content than in the file: nothing was imported`;
  return new ArchiveError("conflict", message);
}

/** Makes a file's name safe for lists, in which it must not steer a terminal. */
function printable(name: string): string {
  return name.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "?").slice(0, 200);
}
