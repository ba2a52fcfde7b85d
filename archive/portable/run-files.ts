import { once } from "node:events";
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { ArchiveError, isAboutOneRun } from "../archive-error.ts";
import type { ArchiveStore, RunImport } from "../archive-store.ts";
import type { ArchivedRun } from "../archived-run.ts";
import type { DamagedRun } from "../listed-run.ts";
import { digestsIn } from "../run-record.ts";
import {
  badFile,
  type PortableItem,
  PortableLines,
  type PortableSource,
  type RefusedRun,
  readPortable,
  refusal,
} from "./portable-format.ts";

/**
 * Exports runs to a new file that only its owner can read. Checks every run first, and leaves damaged runs out. If no run is
 * left, or writing fails, there is no file.
 *
 * @throws ArchiveError
 */
export async function writeRunFile(
  archive: Pick<ArchiveStore, "read">,
  runIds: Iterable<string>,
  file: string,
): Promise<Exported> {
  const done: Exported = { exported: [], damaged: [] };
  let made = false;
  try {
    const target = createWriteStream(file, { flags: "wx", mode: 0o600 });
    target.once("open", () => {
      made = true;
    });
    await pipeline(Readable.from(exportRuns(archive, runIds, done)), createGzip(), target);
    return done;
  } catch (cause) {
    if (made) await rm(file, { force: true });
    if (cause instanceof ArchiveError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const advice =
      code === "EEXIST" ? "it already exists: give another name" : "check its folder and its disk";
    throw new ArchiveError("unwritable", `${file} cannot be written (${code}): ${advice}`, cause);
  }
}

/**
 * Imports the runs of a file that `writeRunFile` wrote. Checks the whole file before it changes the archive. Then imports each
 * run completely, or refuses and names it.
 *
 * @param nowMs milliseconds since 1970.
 * @throws ArchiveError `bad-file`; `conflict` when the archive has a run with the same id and other content.
 */
export function readRunFile(
  archive: Pick<ArchiveStore, "beginImport">,
  file: string,
  nowMs: number,
): Promise<Imported> {
  return importRuns(archive, runFile(file), nowMs);
}

/** A file of runs as a source. Opening it fails unless it is a regular file. */
export function runFile(file: string): PortableSource {
  return {
    name: file,
    origin: basename(file),
    async open() {
      // Reading a pipe or a device might never end.
      if (!statSync(file).isFile()) throw badFile(file, "is not a regular file");
      const source = createReadStream(file);
      await once(source, "open");
      return source;
    },
  };
}

interface Exported {
  /** Ids of the runs in the file. */
  exported: string[];
  /** Damaged runs, which are not in the file. */
  damaged: DamagedRun[];
}

/**
 * Renders runs as lines in the form of `portable-format`, with line feeds. Checks every run first, and leaves damaged runs
 * out.
 *
 * @param done is filled while the lines are rendered.
 * @throws ArchiveError, also if no run is left.
 */
async function* exportRuns(
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

interface Imported {
  imported: string[];
  /** Runs that the archive already had, byte for byte. */
  skipped: string[];
  /** Runs of the file that were refused. */
  refused: RefusedRun[];
}

type PortableRun = Extract<PortableItem, { kind: "run" }>;

/**
 * Does what `readRunFile` promises, for any source. Uses nothing in the file as a path, and executes nothing.
 */
async function importRuns(
  archive: Pick<ArchiveStore, "beginImport">,
  source: PortableSource,
  nowMs: number,
): Promise<Imported> {
  const result: Imported = { imported: [], skipped: [], refused: [] };
  const intake = await archive.beginImport({ importedAt: nowMs, origin: printable(source.origin) });
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

async function refuseOther(intake: RunImport, { record, digest }: PortableRun): Promise<void> {
  const known = await intake.recordDigestOf(record.run_id);
  if (known !== undefined && known !== digest) throw conflict(record.run_id);
}

async function take(item: PortableItem, intake: RunImport, result: Imported): Promise<void> {
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

/** Makes a file's name safe for lists, where it must not control a terminal. */
function printable(name: string): string {
  return name.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "?").slice(0, 200);
}
