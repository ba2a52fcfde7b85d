import { IsolatingValidator } from "../broker/schemas/schema-validator.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { buildAuthorizer } from "../configuration/policy/configured-policy.ts";
import { makeCall } from "../execution/call.ts";
import type { ExecutedCall } from "../execution/output/executed-run.ts";
import type { CallRequest } from "../execution/run-request.ts";
import { Redactor } from "../secrets/redaction.ts";
import { UserSecrets } from "../secrets/user-secrets.ts";
import { openRuns } from "../storage/storage.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { moduleUrl } from "../system/package.ts";
import { openState } from "../system/state-directory.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import { openAuditLog } from "./open-audit.ts";
import { composeRecords } from "./records.ts";
import { composeServers, composeUpstreams } from "./upstreams.ts";

export interface CallerOptions {
  configuration: Configuration;
  env: EnvironmentVariables;
  /** The generated tools of that configuration. */
  tools: ProgramTools;
  /** Reports calls to a collector. Its opener closes it. */
  telemetry?: Telemetry | undefined;
  /** Receives failures that belong to no call. */
  onWarning: (message: string) => void;
}

/** Makes single calls as programs make them, without a sandbox. */
export interface Caller {
  /** Failures of the call or a server are in the envelope. */
  call(request: CallRequest): Promise<ExecutedCall>;
  /** Ends every server once all calls are recorded. Never throws. */
  close(): Promise<void>;
}

/** @throws StateDirectoryError when the folder for this process's files cannot be made. */
export function openCaller({ configuration, env, tools, telemetry, onWarning }: CallerOptions): Caller {
  const own = openState(env);
  const { state } = own;
  const redactor = new Redactor(configuration.secrets, configuration.credentials);
  const audit = openAuditLog(configuration, {
    redact: (name) => redactor.redactText(name).value,
    env,
    onWarning,
  });
  const { pool } = composeUpstreams(configuration, state.groups, {
    redactor,
    env,
    keyring: new UserSecrets(env),
    own,
    onLogin: (event) => audit.login(event),
    onConnection: (connection) => audit.connection(connection),
    onWarning,
  });
  const servers = composeServers(configuration, pool, undefined);
  const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  const records = composeRecords(configuration, { archive: openRuns(configuration, env), audit });
  return {
    async call(request) {
      const authorizer = await buildAuthorizer(configuration);
      const shared = {
        ...{ env, redactor, authorizer, servers, validator, telemetry },
        configuration: () => configuration,
        recorder: records.recorder,
      };
      return makeCall(request, shared, { tools });
    },
    async close() {
      await Promise.all([pool.close(), validator.close(), records.close()]);
      await audit.close();
      state.groups.kill();
      state.remove();
    },
  };
}
