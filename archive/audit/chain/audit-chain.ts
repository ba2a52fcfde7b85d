/** Lines of an audit log that are a chain, wherever they are kept: each names the digest of the one before. */
import type { LogLine } from "./log-files.ts";

export interface Appended {
  /** How many of the lines were written. */
  written: number;
  /** All that was written, as it is kept: lines of the chain's own come first. */
  lines: readonly string[];
  /** Why the rest was not written, or not flushed, or the head was not. */
  problem: string | undefined;
}

/** The lines of a chain that are written now. Several processes may append. */
export interface AuditChain {
  /** Names it in messages. */
  readonly place: string;
  /**
   * Appends lines, of one JSON object and a line feed each.
   *
   * @param flush whether they are to be on the disk, and not only handed to the system.
   * @throws Error when nothing was written.
   */
  append(lines: readonly string[], flush: boolean): Promise<Appended>;
}

/** A part of a log, such as a file, with its lines in their order. */
export interface LogPart {
  name: string;
  lines: () => AsyncIterable<LogLine>;
}
