import { ArchiveError, type ArchiveErrorCode } from "../archive/archive-error.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { PendingError } from "../execution/pending/tickets.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";
import { StateDirectoryError } from "../system/state-directory.ts";
import { Refusal } from "./refusal.ts";

/** Errors of the archive that are the user's mistakes. All others are faults of the archive or of a file. */
const ASKED_FOR_WRONG: ReadonlySet<ArchiveErrorCode> = new Set(["bad-reference", "missing"]);

/**
 * The kind of an error that its message explains to the user: `usage` for a mistake of theirs, `noSandbox` where nothing can run here,
 * `failed` for anything else. `undefined` for a fault of ptc.
 */
export function failureOf(error: unknown): "usage" | "failed" | "noSandbox" | undefined {
  if (error instanceof Refusal) return "usage";
  if (error instanceof PendingError) return "failed";
  if (error instanceof ConfigurationError || error instanceof CatalogError) return "usage";
  if (error instanceof ArchiveError) return ASKED_FOR_WRONG.has(error.code) ? "usage" : "failed";
  if (error instanceof SandboxError || error instanceof StateDirectoryError) return "noSandbox";
  return undefined;
}
