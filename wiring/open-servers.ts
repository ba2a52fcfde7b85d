import type { AuditLog } from "../archive/audit/audit-log.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { ConfiguredServers } from "../generation/list-servers.ts";
import { Redactor } from "../secrets/redaction.ts";
import { UserSecrets } from "../secrets/user-secrets.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { openState } from "../system/state-directory.ts";
import { composeUpstreams } from "./upstreams.ts";

/** Servers that can be listed, until they are closed. */
export interface OpenServers extends ConfiguredServers {
  /** Ends every server and removes what this process keeps on disk. Never throws. */
  close(): Promise<void>;
}

/**
 * Opens the servers of a configuration for a command that lists them and runs no program: the pool with its credentials, and the
 * audit log of logins.
 *
 * @param options `principal` uses the servers. `onWarning` receives a line when a server is slow to start, and when the audit log
 * cannot be written.
 * @throws StateDirectoryError when the folder for this process's files cannot be made.
 */
export function openServers(
  configuration: Configuration,
  {
    env,
    principal,
    onWarning,
  }: { env: EnvironmentVariables; principal: string; onWarning: (message: string) => void },
): OpenServers {
  const redactor = new Redactor(configuration.secrets, configuration.credentials);
  const own = openState(env);
  let audit: Promise<AuditLog> | undefined;
  const openAudit = async () => {
    const { openAuditLog } = await import("./open-audit.ts");
    return openAuditLog(configuration, { redact: (name) => redactor.redactText(name).value, env, onWarning });
  };
  const { pool } = composeUpstreams(configuration, own.state.groups, {
    env,
    keyring: new UserSecrets(env),
    own,
    redactor,
    onLogin(event) {
      audit ??= openAudit();
      void audit.then((log) => log.login(event));
    },
    onConnection(connection) {
      audit ??= openAudit();
      void audit.then((log) => log.connection(connection));
    },
    onWarning,
  });
  return {
    get: (name) => pool.get(principal, name),
    async close() {
      await pool.close();
      await (await audit?.catch(() => undefined))?.close();
      own.state.groups.kill();
      own.state.remove();
    },
  };
}
