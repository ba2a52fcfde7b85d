import { randomUUID } from "node:crypto";
import type { Approver } from "../../broker/approvals/approvals.ts";
import { Dispatcher } from "../../broker/dispatcher.ts";
import { RunState } from "../../broker/policy/run-history.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import { type DirectCall, type ExecutedCall, executeCall } from "../../execution/execute-call.ts";
import { MAX_KEPT_OUTPUT_BYTES } from "../../protocol/limits.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { Redactor } from "../../secrets/redaction.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { TraceContext } from "../../telemetry/trace-context.ts";
import { openPending } from "../approvals/open-pending.ts";
import { shareQuestions } from "../approvals/shared-questions.ts";
import { openAuditLog } from "../audit/open-audit.ts";
import { composeRecords } from "../composition/records.ts";
import { redactRun } from "../composition/redact-run.ts";
import { keptTokens, passTraceOn, traceRun } from "../composition/trace-run.ts";
import { composeServers, composeUpstreams } from "../composition/upstreams.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { buildAuthorizer } from "../configured-policy.ts";
import type { EnvironmentVariables } from "../environment-variables.ts";
import { moduleUrl, version } from "../package.ts";
import { clock } from "../process-clock.ts";
import { openState } from "../processes/state-directory.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import { UserSecrets } from "../user-secrets.ts";

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

interface CallOptions {
  /** On whose behalf it is called. */
  context: RunContext;
  /** The trace of whoever makes the call. */
  trace?: TraceContext | undefined;
  approver: Approver;
  signal: AbortSignal;
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
  });
  const servers = composeServers(configuration, pool, undefined);
  const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  const records = composeRecords(configuration, { audit });
  return {
    async call(call, { context, trace, approver, signal }) {
      const { all } = tools;
      const authorizer = await buildAuthorizer(configuration);
      const state = new RunState();
      const redaction = await redactRun(redactor, configuration, state);
      const own = new Dispatcher({
        context,
        tools: all,
        authorizer,
        state,
        servers,
        validator,
        redact: (message) => redactor.redactText(message).value,
      });
      const { execution } = configuration;
      const runId = randomUUID();
      const facts = { runId, context, language: "typescript", trace, tools: all };
      const asking = shareQuestions({
        approver,
        context,
        fileName: "call.ts",
        open: () => openPending(configuration, env),
      });
      const traced = traceRun(telemetry, configuration, facts);
      const passed = traced === undefined && trace !== undefined ? passTraceOn(trace, own) : undefined;
      const executed = await executeCall(
        call,
        {
          dispatcher: traced?.overCalls(own) ?? passed?.dispatcher ?? own,
          approver: traced?.overQuestions(asking) ?? asking,
          redactor: redaction.redactor,
          asking: redaction.asking,
          recorder: records.recorder(context, tools, redaction),
          clock,
          toolVersion: version,
          modules: all.configured,
        },
        {
          limits: { ...execution, maxKeptBytes: MAX_KEPT_OUTPUT_BYTES },
          runId,
          traceId: traced?.traceId ?? passed?.traceId,
          signal,
        },
      );
      traced?.end(executed.envelope, keptTokens("", executed.envelope));
      return executed;
    },
    async close() {
      await Promise.all([pool.close(), validator.close(), records.close()]);
      await audit.close();
      state.groups.kill();
      state.remove();
    },
  };
}
