import type { ChainEnd } from "../chain/chain-head.ts";
import { readHead } from "../chain/chain-head.ts";
import { logFiles } from "../chain/log-files.ts";
import { type LogVerification, type VerifyLogOptions, verifyLog } from "../chain/verify-log.ts";
import { type AuditEntry, type AuditFilter, followLog, readLog } from "./read-log.ts";

/** Reads an audit log from files or a database. Every method rejects with an Error when the log cannot be read. */
export interface AuditSource {
  /** Names it in messages. */
  readonly place: string;
  /** The lines that match, oldest first. */
  entries(filter: AuditFilter): AsyncIterable<AuditEntry>;
  /** Matching lines as they are written from now on, until the signal is aborted. */
  following(filter: AuditFilter, signal: AbortSignal): AsyncGenerator<AuditEntry>;
  /** The newest line according to the head beside the lines, or `undefined` if there is none. */
  head(): Promise<ChainEnd | undefined>;
  verify(options: VerifyLogOptions): Promise<LogVerification>;
}

/** The audit log in a file and the earlier files beside it. */
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
