import { ArchiveWriter } from "../../writer/archive-writer.ts";
import type { WriterOptions } from "./run-writer.ts";

/** Archives runs in one SQLite file. */
export class SqliteArchiveWriter extends ArchiveWriter {
  /** @param workerModule the `writer-worker` module; by default the one beside this file, which a bundled file lacks. */
  constructor(options: WriterOptions, workerModule = new URL("./writer-worker.ts", import.meta.url)) {
    super(options, workerModule);
  }
}
