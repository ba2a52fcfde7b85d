import type { ChainEnd } from "../chain/chain-head.ts";
import { readHead } from "../chain/chain-head.ts";
import { logFiles } from "../chain/log-files.ts";
import { type LogVerification, type VerifyLogOptions, verifyLog } from "../chain/verify-log.ts";
import { type AuditEntry, type AuditFilter, followLog, readLog } from "./read-log.ts";

/** An audit log that is read, wherever it is kept. Every method rejects with an Error when it cannot be read. */
export interface AuditSource {
  /** Names it in messages. */
  readonly place: string;
  /** The lines that match, the oldest first. */
  entries(filter: AuditFilter): AsyncIterable<AuditEntry>;
  /** Lines that match and are written from now on, until the signal is aborted. */
  following(filter: AuditFilter, signal: AbortSignal): AsyncGenerator<AuditEntry>;
  /** The newest line by what is kept beside the lines; `undefined` where there is none. */
  head(): Promise<ChainEnd | undefined>;
  verify(options: VerifyLogOptions): Promise<LogVerification>;
}

/** The audit log in a file, and in those that it was written to before. */
export function auditFiles(path: string): AuditSource {
  return {
    place: path,
    entries: (filter) => readLog(path, filter),
    following: (filter, signal) => followLog(path, filter, signal),
    head: async () => {
      const head = readHead(logFiles(path).head);
      return head === undefined || head.seq === 0 ? undefined : head;
    },
    verify: (options) => verifyLog(path, options),
  };
}
