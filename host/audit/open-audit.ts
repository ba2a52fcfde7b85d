import { join } from "node:path";
import { AuditLog } from "../../archive/audit/audit-log.ts";
import { PRIVATE_FOLDER_NAME } from "../../archive/private-folder.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { clock } from "../process-clock.ts";

/**
 * Opens the audit log of a configuration. It reads and creates nothing before its first line. The caller closes it.
 *
 * @param options `redact` takes the secrets out of names. `onWarning` is told when the log cannot be written.
 */
export function openAuditLog(
  { directory }: Pick<Configuration, "directory">,
  { redact, onWarning }: { redact: (name: string) => string; onWarning: (message: string) => void },
): AuditLog {
  return new AuditLog({
    path: join(directory, PRIVATE_FOLDER_NAME, "audit.jsonl"),
    clock,
    redact,
    onFailure: onWarning,
  });
}
