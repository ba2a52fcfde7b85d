import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import type { DirectCall, ExecutedCall } from "../../execution/execute-call.ts";
import { Redactor } from "../../secrets/redaction.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { openAuditLog } from "../audit/open-audit.ts";
import { composeRecords } from "../composition/records.ts";
import { composeServers, composeUpstreams } from "../composition/upstreams.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { buildAuthorizer } from "../configured-policy.ts";
import type { EnvironmentVariables } from "../environment-variables.ts";
import { moduleUrl } from "../package.ts";
import { openState } from "../processes/state-directory.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import { UserSecrets } from "../user-secrets.ts";
import { type CallOptions, makeCall } from "./make-call.ts";

export interface CallerOptions {
  configuration: Configuration;
  env: EnvironmentVariables;
  /** The generated tools of that configuration. */
  tools: ProgramTools;
  /** What tells a collector of calls. Whoever opened it closes it. */
  telemetry?: Telemetry | undefined;
  /** Receives failures that belong to no call. */
  onWarning: (message: string) => void;
}

/** Makes single calls as programs make them, without a sandbox. */
export interface Caller {
  /** Failures of the call or a server are in the envelope. */
  call(call: DirectCall, options: CallOptions): Promise<ExecutedCall>;
  /** Ends every server, when what was called is recorded. Never throws. */
  close(): Promise<void>;
}

/** @throws SandboxError when the folder for this process's files cannot be made. */
export function openCaller({ configuration, env, tools, telemetry, onWarning }: CallerOptions): Caller {
  const { state } = openState(env);
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
    onLogin: (event) => audit.login(event),
    onWarning,
  });
  const servers = composeServers(configuration, pool, undefined);
  const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  const records = composeRecords(configuration, { audit });
  return {
    async call(call, options) {
      const authorizer = await buildAuthorizer(configuration);
      const parts = {
        configuration,
        env,
        tools,
        authorizer,
        redactor,
        servers,
        validator,
        records,
        telemetry,
      };
      return makeCall(call, parts, options);
    },
    async close() {
      await Promise.all([pool.close(), validator.close(), records.close()]);
      await audit.close();
      state.groups.kill();
      state.remove();
    },
  };
}
