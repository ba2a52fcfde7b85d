import { basename } from "node:path";
import * as z from "zod/mini";
import { appendRun, type Import } from "./append-run.ts";
import { ArchiveError } from "./archive-error.ts";
import { putBlob, readBlob } from "./blobs.ts";
import type { Database } from "./database.ts";
import { badFile, type PortableItem, readPortable } from "./read-portable.ts";
import { RecordProblem, readContents } from "./run-contents.ts";
import { digestsIn } from "./run-record.ts";
import { summarizeRun } from "./run-summary.ts";

export interface Imported {
  imported: string[];
  /** Runs that were here already, the same in every byte. */
  skipped: string[];
}

const Known = z.object({ record_digest: z.string() });

/**
 * Takes in the runs of a file that `exportRuns` wrote, here or elsewhere. The whole file is checked before the archive is
 * touched; then all of it is taken in, or nothing. Nothing in it is used as a path or run.
 *
 * @throws ArchiveError `bad-file`; `conflict` when a run with the same id and other content is here.
 */
export async function importRuns(db: Database, file: string, nowMs: number): Promise<Imported> {
  for await (const _ of readPortable(file));
  const origin: Import = { importedAt: nowMs, origin: printable(basename(file)) };
  return db.longTransaction(() => takeIn(db, file, origin));
}

/** Reads the file once more, with the same checks: it may have changed meanwhile. */
async function takeIn(db: Database, file: string, origin: Import): Promise<Imported> {
  const result: Imported = { imported: [], skipped: [] };
  const blobIds = new Map<string, number>();
  for await (const item of readPortable(file)) {
    if (item.kind === "blob") {
      const { digest, id } = putBlob(db, item.json);
      blobIds.set(digest, id);
    } else if (isKnown(db, item)) {
      result.skipped.push(item.record.run_id);
    } else {
      append(db, file, item, blobIds, origin);
      result.imported.push(item.record.run_id);
    }
  }
  return result;
}

function isKnown(db: Database, { record, digest }: Extract<PortableItem, { kind: "run" }>): boolean {
  const known = db.get(Known, "SELECT record_digest FROM runs WHERE run_id = ?", record.run_id);
  if (known === undefined) return false;
  if (known.record_digest === digest) return true;
  const message = `run ${record.run_id} is in the archive with other content than in the file: nothing was imported`;
  throw new ArchiveError("conflict", message);
}

function append(
  db: Database,
  file: string,
  { record, digest }: Extract<PortableItem, { kind: "run" }>,
  blobIds: ReadonlyMap<string, number>,
  origin: Import,
): void {
  try {
    const contents = readContents(record, (each) => readBlob(db, each));
    const named = [...digestsIn(record)].map((each) => blobIds.get(each) ?? 0);
    const stored = appendRun(db, record, summarizeRun(record, contents), new Set(named), origin);
    if (stored !== digest) throw new RecordProblem("the record does not match its digest");
  } catch (error) {
    if (!(error instanceof RecordProblem)) throw error;
    throw badFile(
      file,
      `holds run ${record.run_id}, which is not one that ptc archived (${error.message})`,
      error,
    );
  }
}

/** A file's name is shown in lists: nothing in it may steer a terminal. */
function printable(name: string): string {
  return name.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "?").slice(0, 200);
}
