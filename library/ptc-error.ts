import { ArchiveError } from "../archive/archive-error.ts";
import { oneLine } from "../base/visible-text.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { PendingError } from "../execution/pending/tickets.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";
import { StateDirectoryError } from "../system/state-directory.ts";

/** Why something could not be done. */
export type PtcErrorCode =
  /** The configuration, a tool, a program or an option cannot be used. */
  | "invalid"
  /** The most programs that may run and wait do so already. */
  | "busy"
  /** No sandbox can be had on this machine. */
  | "no_sandbox"
  /** Nothing waits under this ticket. */
  | "no_ticket"
  /** Nobody has answered its question yet. */
  | "unanswered"
  /** Its question was answered before. */
  | "answered"
  /** A run is not in the archive, or cannot be replayed; or the archive cannot be used. */
  | "archive"
  /** It was closed. */
  | "closed";

/** What ptc could not do, in one line that says what is wrong, where, and what to do. It holds no secrets. */
export class PtcError extends Error {
  override readonly name = "PtcError";
  readonly code: PtcErrorCode;

  constructor(code: PtcErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Does something whose expected errors become `PtcError`s. Faults of ptc are thrown as they are. */
export async function plainly<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new PtcError(code, oneLine((error as Error).message), { cause: error });
  }
}

function codeOf(error: unknown): PtcErrorCode | undefined {
  if (error instanceof ConfigurationError || error instanceof CatalogError) return "invalid";
  if (error instanceof SandboxError || error instanceof StateDirectoryError) return "no_sandbox";
  if (error instanceof PendingError || error instanceof ArchiveError) return "archive";
  return undefined;
}
