import { once } from "node:events";
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { ArchiveError } from "../archive/archive-error.ts";
import type { ArchiveStore } from "../archive/archive-store.ts";
import { type Exported, exportRuns } from "../archive/portable/export-runs.ts";
import { type Imported, importRuns } from "../archive/portable/import-runs.ts";
import { badFile, type PortableSource } from "../archive/portable/read-portable.ts";

/**
 * Exports runs to a new file that only its owner can read. Every run is checked first, and left out when it is damaged. When
 * none is left, or writing fails, there is no file.
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
      code === "EEXIST" ? "it is there already: give another name" : "check its folder and its disk";
    throw new ArchiveError("unwritable", `${file} cannot be written (${code}): ${advice}`, cause);
  }
}

/**
 * Imports the runs of a file that `writeRunFile` wrote. The whole file is checked before the archive is changed. Then each
 * run is either imported completely, or refused and named.
 *
 * @param nowMs milliseconds since 1970.
 * @throws ArchiveError `bad-file`; `conflict` when the archive has a run with the same id and other content.
 */
export function readRunFile(
  archive: Pick<ArchiveStore, "takeIn">,
  file: string,
  nowMs: number,
): Promise<Imported> {
  return importRuns(archive, runFile(file), nowMs);
}

/** A file of runs as a source that is read from its beginning. Opening it fails unless it is a regular file. */
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
