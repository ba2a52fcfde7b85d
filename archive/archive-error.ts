export type ArchiveErrorCode =
  /** This Node has no SQLite. */
  | "unavailable"
  /** There is no archive yet. */
  | "missing"
  /** The file is another program's database. */
  | "foreign"
  /** A newer ptc has written it: the archive, or one run. */
  | "newer"
  /** Another user may control its file or folder. */
  | "unsafe"
  | "unwritable"
  | "busy"
  /** The server that keeps it does not answer. */
  | "unreachable"
  | "full"
  | "corrupt"
  /** A record differs from what was archived. */
  | "tampered"
  /** A reference to a run is neither a digest nor a run id. */
  | "bad-reference"
  /** A file to import is not a whole, unchanged export. */
  | "bad-file"
  /** The archive has another run with the id of an imported one. */
  | "conflict"
  /** A value is larger or nests deeper than readers of an archive accept. */
  | "unkeepable"
  | "failed";

/** The archive cannot be read or written. The message is one line that says what is wrong and what to do. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
  readonly code: ArchiveErrorCode;

  constructor(code: ArchiveErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

const ABOUT_ONE_RUN: ReadonlySet<ArchiveErrorCode> = new Set(["tampered", "corrupt", "newer"]);

/** Whether an error concerns only one run, so that others can still be read. */
export function isAboutOneRun(error: unknown): error is ArchiveError {
  return error instanceof ArchiveError && ABOUT_ONE_RUN.has(error.code);
}
