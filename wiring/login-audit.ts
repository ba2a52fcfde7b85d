import type { AuditLog } from "../archive/audit/audit-log.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { Redactor } from "../secrets/redaction.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { openAuditLog } from "./open-audit.ts";

/** The audit log of a configuration, for a command that changes logins and runs nothing. The caller closes it. */
export function openLoginAudit(
  configuration: Configuration,
  env: EnvironmentVariables,
  onWarning: (message: string) => void,
): AuditLog {
  const redactor = new Redactor(configuration.secrets, configuration.credentials);
  return openAuditLog(configuration, { redact: (name) => redactor.redactText(name).value, env, onWarning });
}
