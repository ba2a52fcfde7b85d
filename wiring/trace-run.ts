import { returnedBytes } from "../archive/run-summary.ts";
import { estimateTokens } from "../base/quantities.ts";
import type { CallDispatcher } from "../broker/dispatcher.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { Envelope } from "../protocol/envelope.ts";
import type { RunContext } from "../protocol/run-context.ts";
import { type TraceContext, traceIdOf } from "../protocol/trace-context.ts";
import type { CalledTool, Telemetry, TracedRun } from "../telemetry/telemetry.ts";

interface RunToTrace {
  runId: string;
  context: RunContext;
  language: string;
  /** The trace of whoever has the program run. */
  trace: TraceContext | undefined;
  /** Where the run was told of before it was suspended. */
  earlier?: TraceContext | undefined;
  tools: Pick<ToolCatalog, "get">;
}

/** Begins to tell of a run where there is a collector. */
export function traceRun(
  telemetry: Telemetry | undefined,
  { servers }: Pick<Configuration, "servers">,
  { tools, trace: parent, ...run }: RunToTrace,
): TracedRun | undefined {
  return telemetry?.beginRun({
    ...run,
    parent,
    describeTool: (called) => {
      const tool = tools.get(called);
      if (tool === undefined) return undefined;
      const { server, name, method } = tool;
      return { server, name, method, host: hostOf(servers.find((each) => each.name === server)) };
    },
  });
}

/**
 * Without a collector a run takes part in the trace of whoever has it run, all the same: its name is the run's, and servers are
 * told of it.
 */
export function passTraceOn(
  trace: TraceContext,
  inner: CallDispatcher,
): { traceId: string | undefined; dispatcher: CallDispatcher } {
  const meta = { ...trace };
  return {
    traceId: traceIdOf(trace),
    dispatcher: { dispatch: (call, run) => inner.dispatch(call, { ...run, meta: { ...run.meta, ...meta } }) },
  };
}

/** How many tokens of results no model had to read. */
export function keptTokens(consoleText: string, envelope: Envelope): number {
  const { tool_result_bytes: bytes } = envelope.result.metrics;
  return estimateTokens(Math.max(0, bytes - returnedBytes(consoleText, envelope)));
}

function hostOf(server: Configuration["servers"][number] | undefined): CalledTool["host"] {
  if (server === undefined || !("url" in server) || !URL.canParse(server.url)) return undefined;
  const { hostname, port, protocol } = new URL(server.url);
  return { address: hostname, port: Number(port) || (protocol === "https:" ? 443 : 80) };
}
