import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { ArchiveError } from "./archive-error.ts";
import { readBlob } from "./blobs.ts";
import type { Database } from "./database.ts";
import { PortableLines } from "./portable-format.ts";
import { readRun } from "./read-run.ts";
import { digestsIn } from "./run-record.ts";

/**
 * Writes runs to a new file, readable by its owner alone, in the form that `portable-format` describes. Every run is
 * checked first; when one is not as it was archived, or writing fails, there is no file.
 *
 * @throws ArchiveError
 */
export async function exportRuns(db: Database, runIds: readonly string[], file: string): Promise<void> {
  let made = false;
  try {
    const target = createWriteStream(file, { flags: "wx", mode: 0o600 });
    target.once("open", () => {
      made = true;
    });
    await pipeline(Readable.from(renderLines(db, new Set(runIds))), createGzip(), target);
  } catch (cause) {
    if (made) await rm(file, { force: true });
    if (cause instanceof ArchiveError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const advice =
      code === "EEXIST" ? "it is there already: give another name" : "check its folder and its disk";
    throw new ArchiveError("unwritable", `${file} cannot be written (${code}): ${advice}`, cause);
  }
}

function* renderLines(db: Database, runIds: ReadonlySet<string>): Generator<string> {
  const lines = new PortableLines();
  yield lines.header();
  for (const runId of runIds) {
    const { record, recordDigest } = readRun(db, runId);
    for (const digest of digestsIn(record)) {
      if (lines.has(digest)) continue;
      const text = readBlob(db, digest);
      if (!text.ok)
        throw new ArchiveError("tampered", `run ${runId} was changed while it was exported: start again`);
      yield lines.blob(digest, text.json);
    }
    yield lines.run(recordDigest, record);
  }
  yield lines.end();
}
