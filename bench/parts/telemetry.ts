import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { RunApprovals } from "../../broker/approvals/approvals.ts";
import { interceptCalls } from "../../broker/call-interceptors.ts";
import { type CallDispatcher, Dispatcher } from "../../broker/dispatcher.ts";
import { PolicyAuthorizer } from "../../broker/policy/authorizer.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import { openTelemetry } from "../../telemetry/open-telemetry.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { toolOf } from "../../tests/catalog/tool-of.ts";
import type { Comparison } from "../measurement.ts";

const ROUNDS = 60;
const CALLS = 500;
const PATIENCE_MS = 10_000;

/**
 * The host's part of a call, with a server that answers immediately: composed without telemetry, against the broker alone; and with
 * a collector that receives every call, against the former.
 */
export async function measureTelemetry(): Promise<Comparison[]> {
  const collector = createServer(
    (request, response) => void request.resume().on("end", () => response.end()),
  );
  await once(collector.listen(0, "127.0.0.1"), "listening");
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const options = { version: "0", onWarning() {} };
  const off = await openTelemetry({}, options);
  const on = await openTelemetry(process.env, options);
  const times: Record<"bare" | "off" | "on", number[]> = { bare: [], off: [], on: [] };
  for (let round = 0; round < ROUNDS; round++) {
    // Each comes first as often as last.
    const order = round % 2 === 0 ? (["bare", "off", "on"] as const) : (["on", "off", "bare"] as const);
    for (const each of order) {
      const dispatcher = broker();
      const composed = each === "bare" ? dispatcher : overCalls(each === "on" ? on : off, dispatcher);
      times[each].push(await timeCalls(composed));
    }
  }
  await on?.close(PATIENCE_MS);
  collector.closeAllConnections();
  collector.close();
  return [
    {
      name: `${CALLS} calls without telemetry`,
      measuredMs: times.off,
      against: "the broker alone",
      baselineMs: times.bare,
      maxRatio: 1.2,
    },
    {
      name: `${CALLS} calls that a collector receives`,
      measuredMs: times.on,
      against: "without telemetry",
      baselineMs: times.off,
      maxRatio: 8,
    },
  ];
}

const TOOL = toolOf("bench", "add", { definitionDigest: "same" });
const TOOLS = new Map([[TOOL.namespacedName, TOOL]]);

function broker(): CallDispatcher {
  const server = {
    definitionDigest: () => "same",
    call: async () => ({ content: [{ type: "text", text: "1" }] }),
  };
  return new Dispatcher({
    context: { principal: "local", source: "run" },
    tools: TOOLS,
    authorizer: new PolicyAuthorizer({
      allow: undefined,
      block: [],
      ask: [],
      neverAsk: [],
      byDefault: "annotated",
    }),
    servers: { connect: async () => server },
    validator: new IsolatingValidator(),
  });
}

/** Composes the dispatcher as a run does. */
function overCalls(telemetry: Telemetry | undefined, dispatcher: CallDispatcher): CallDispatcher {
  const traced = telemetry?.beginRun({
    runId: "bench",
    context: { principal: "local", source: "run" },
    language: "javascript",
    parent: undefined,
    describeTool: (name) => TOOLS.get(name),
  });
  return interceptCalls(dispatcher, [traced?.aroundCalls]);
}

async function timeCalls(dispatcher: CallDispatcher): Promise<number> {
  const approvals = new RunApprovals("bench", { ask: async () => ({ decision: "denied", by: "nobody" }) });
  const { signal } = new AbortController();
  const startedAt = performance.now();
  for (let i = 0; i < CALLS; i++) {
    const outcome = await dispatcher.dispatch(
      { tool: TOOL.namespacedName, arguments: {} },
      { approvals, signal },
    );
    if (!outcome.ok) throw new Error(outcome.error.message);
  }
  return performance.now() - startedAt;
}
