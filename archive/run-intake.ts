import type { RunRecord } from "./run-record.ts";

/** The origin of imported runs. */
export interface RunOrigin {
  /** Milliseconds since 1970. */
  importedAt: number;
  /** The origin as lists show it. */
  origin: string;
}

/**
 * Imports runs of another archive, each completely or not at all. Imported runs stay even if a later one is refused. Methods
 * reject with an `ArchiveError` for failures of the archive itself.
 */
export interface RunIntake {
  /** The digest of the record of a run that is already here; `undefined` for an unknown run. */
  recordDigestOf(runId: string): Promise<string | undefined>;
  /** Adds a JSON text for later runs. It is kept only if one of them names it. */
  addText(json: string): Promise<void>;
  /**
   * Checks a run as reading it would, and imports it with the texts that it names, which must have been added before.
   *
   * @param recordDigest the digest of the record's canonical JSON.
   */
  addRun(record: RunRecord, recordDigest: string): Promise<IntakeResult>;
  /** Drops texts that no run named. Must always be called at the end. */
  end(): Promise<void>;
}

export type IntakeResult =
  | { kind: "added" }
  /** The archive already has this run, byte for byte. */
  | { kind: "known" }
  /** The archive has another run with this id. */
  | { kind: "conflict" }
  /** ptc would not have archived such a run. `problem` follows the name of the run. */
  | { kind: "refused"; problem: string };
