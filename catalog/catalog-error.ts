export type CatalogErrorCode =
  /** A file cannot be read. */
  | "unreadable"
  /** A file is not what `ptc generate` writes. */
  | "broken"
  /** An entry is not what `ptc generate` wrote. */
  | "edited"
  | "too-large"
  /** Two configured servers would share a module. */
  | "module-collision"
  /** A path that is not ours to write. */
  | "unsafe-path"
  | "write-failed";

/** Why generated files cannot be read or written: one line that names the file, and says what to do about it. */
export class CatalogError extends Error {
  override readonly name = "CatalogError";
  readonly code: CatalogErrorCode;
  /** The message without `remedy`, for a caller that is about to apply it. */
  readonly problem: string;

  /** @param more `remedy` is put behind the problem: what a person should do. */
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
