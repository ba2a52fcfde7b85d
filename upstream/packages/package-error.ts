/** Packages of a server cannot be fetched or used. The message is one line that says why, and what to do. */
export class PackageError extends Error {
  override readonly name = "PackageError";
}
