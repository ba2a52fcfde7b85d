import { ForeignJsonError } from "../base/json.ts";
import { ArchiveError } from "./archive-error.ts";
import { parseArchived } from "./archived-json.ts";

/** The largest JSON text under one digest: larger than the largest message of a sandbox. */
export const MAX_BLOB_BYTES = 128 * 1024 * 1024;

/** @throws ArchiveError `unkeepable` for a text of more than `MAX_BLOB_BYTES` bytes of UTF-8. */
export function checkSize(bytes: number): void {
  if (bytes <= MAX_BLOB_BYTES) return;
  const message = `a value of ${bytes} bytes is too large to archive: ${MAX_BLOB_BYTES} is the most`;
  throw new ArchiveError("unkeepable", message);
}

/** @throws ArchiveError `unkeepable` for a text that no reader of an archive would accept. */
export function checkReadable(json: string): void {
  try {
    parseArchived(json);
  } catch (error) {
    if (!(error instanceof ForeignJsonError)) throw error;
    throw new ArchiveError("unkeepable", `a value that ${error.message} cannot be archived`, error);
  }
}
