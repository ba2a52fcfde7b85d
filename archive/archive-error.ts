export type ArchiveErrorCode =
  /** This Node has no SQLite. */
  | "unavailable"
  /** There is no archive yet. */
  | "missing"
  /** The file is some other program's database. */
  | "foreign"
  /** A newer ptc has written it. */
  | "newer"
  /** Its file or folder could be in somebody else's hands. */
  | "unsafe"
  | "unwritable"
  | "busy"
  | "full"
  | "corrupt"
  /** A record is not what was archived. */
  | "tampered"
  /** What was given to find a run by is neither a digest nor a run id. */
  | "bad-reference"
  /** A file to import is not a whole, unchanged export. */
  | "bad-file"
  /** An imported run has the id of another one. */
  | "conflict"
  | "failed";

/** Why the archive cannot be read or written: one line that names what, and what to do. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
  readonly code: ArchiveErrorCode;

  constructor(code: ArchiveErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
