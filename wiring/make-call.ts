import { randomUUID } from "node:crypto";
import { clock } from "../base/clock.ts";
import { typedOnly } from "../broker/approvals/approvals.ts";
import { type CallDispatcher, Dispatcher } from "../broker/dispatcher.ts";
import type { Authorizer } from "../broker/policy/authorizer.ts";
import { RunState } from "../broker/policy/run-history.ts";
import type { SchemaValidator } from "../broker/schemas/schema-validator.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { type DirectCall, type ExecutedCall, executeCall } from "../execution/execute-call.ts";
import { keeperFor } from "../execution/pending/keeper-for.ts";
import { openPending } from "../execution/pending/open-pending.ts";
import { shareQuestions } from "../execution/pending/shared-questions.ts";
import type { CallOptions } from "../execution/program-runner.ts";
import { reportRun } from "../execution/runs/report-run.ts";
import type { RunFeed } from "../execution/runs/run-feed.ts";
import { MAX_KEPT_OUTPUT_BYTES } from "../protocol/limits.ts";
import type { Redactor } from "../secrets/redaction.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { version } from "../system/package.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import type { ToolServers } from "../upstream/tool-servers.ts";
import type { Records } from "./records.ts";
import { redactRun } from "./redact-run.ts";
import { keptTokens, passTraceOn, traceRun } from "./trace-run.ts";

/** What a call is made with. */
export interface CallParts {
  configuration: Configuration;
  env: EnvironmentVariables;
  tools: ProgramTools;
  authorizer: Authorizer;
  redactor: Redactor;
  servers: ToolServers;
  validator: SchemaValidator;
  records: Records;
  telemetry: Telemetry | undefined;
  /** Receives the events of the call, as those of a run. */
  runs?: RunFeed | undefined;
  /** Puts more around the calls, such as logins that they need. */
  around?: (dispatcher: CallDispatcher) => CallDispatcher;
}

/** Makes one call as a program makes it, and records it as the run of that program. Failures are in the envelope. */
export async function makeCall(
  call: DirectCall,
  {
    configuration,
    env,
    tools,
    redactor,
    records,
    telemetry,
    runs,
    around = (own) => own,
    ...checks
  }: CallParts,
  { context, trace, approver, suspends = false, withAnswer, onProgress, signal, ...observer }: CallOptions,
): Promise<ExecutedCall> {
  const { all } = tools;
  const { authorizer, servers, validator } = checks;
  const state = new RunState();
  const redaction = await redactRun(redactor, configuration, state);
  const runId = randomUUID();
  const own = around(
    new Dispatcher({
      context,
      tools: all,
      authorizer,
      state,
      servers,
      validator,
      redact: (message) => redactor.redactText(message).value,
      schemaMismatch: configuration.execution.schemaMismatch,
    }),
  );
  const report = runs && reportRun((event) => runs.publish(event), { runId, context }, redaction.redactor);
  const shared = shareQuestions({
    approver: configuration.approvals.require === "terminal" ? typedOnly(approver) : approver,
    context,
    fileName: "call.ts",
    open: () => openPending(configuration, env),
  });
  const asking = report?.over(shared) ?? shared;
  const facts = { runId, context, language: "typescript", trace, tools: all };
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
      onCallStarted(started) {
        report?.onCallStarted(started);
        observer.onCallStarted?.(started);
      },
      onCall(ended) {
        report?.onCall(ended);
        return observer.onCall?.(ended);
      },
      limits: { ...configuration.execution, maxKeptBytes: MAX_KEPT_OUTPUT_BYTES },
      runId,
      traceId: traced?.traceId ?? passed?.traceId,
      keeper:
        suspends && configuration.approvals.suspend
          ? keeperFor(context, configuration, env, traced?.place)
          : undefined,
      withAnswer,
      onProgress,
      signal,
    },
  );
  report?.end(executed.envelope);
  traced?.end(executed.envelope, keptTokens("", executed.envelope));
  return executed;
}
