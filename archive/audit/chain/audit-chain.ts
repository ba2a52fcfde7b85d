/** The chain of an audit log's lines, in a file or a database. Each line names the digest of the one before. */
import type { LogLine } from "./log-files.ts";

export interface Appended {
  /** How many of the lines were written. */
  written: number;
  /** Everything that was written, in its final form. The chain's own lines come first. */
  lines: readonly string[];
  /** Why lines or the head were not written, or not flushed. */
  problem: string | undefined;
}

/** The end of a chain, where lines are appended. Several processes may append. */
export interface AuditChain {
  /** Names it in messages. */
  readonly place: string;
  /**
   * Appends lines, each of one JSON object and a line feed.
   *
   * @param flush whether to wait until they are on the disk, not only handed to the system.
   * @throws Error when nothing was written.
   */
  append(lines: readonly string[], flush: boolean): Promise<Appended>;
}

/** A part of a log, such as a file, with its lines in order. */
export interface LogPart {
  name: string;
  lines: () => AsyncIterable<LogLine>;
}
