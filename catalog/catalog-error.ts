export type CatalogErrorCode =
  /** A file cannot be read. */
  | "unreadable"
  /** A file was not written by `ptc generate`. */
  | "broken"
  /** An entry was edited after `ptc generate` wrote it. */
  | "edited"
  | "too-large"
  /** Two configured servers would share a module. */
  | "module-collision"
  /** ptc must not write to a path. */
  | "unsafe-path"
  | "write-failed";

/** Generated files cannot be read or written. The message is one line that names the file and says what to do. */
export class CatalogError extends Error {
  override readonly name = "CatalogError";
  readonly code: CatalogErrorCode;
  /** The message without `remedy`, for a caller that is about to apply it. */
  readonly problem: string;

  /** @param more `remedy` says what a person should do. It follows the problem in the message. */
  constructor(
    code: CatalogErrorCode,
    problem: string,
    { remedy, cause }: { remedy?: string; cause?: unknown } = {},
  ) {
    super(remedy === undefined ? problem : `${problem}: ${remedy}`, cause === undefined ? {} : { cause });
    this.code = code;
    this.problem = problem;
  }
}
