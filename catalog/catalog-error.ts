export type CatalogErrorCode =
  /** A file cannot be read. */
  | "unreadable"
  /** A file is not what `ptc generate` writes. */
  | "broken"
  | "too-large"
  /** Two configured servers would share a module. */
  | "module-collision"
  /** A path that is not ours to write. */
  | "unsafe-path"
  | "write-failed";

/** Why generated files cannot be read or written: one line that names the file and what to do. */
export class CatalogError extends Error {
  override readonly name = "CatalogError";
  readonly code: CatalogErrorCode;

  constructor(code: CatalogErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
