import { afterEach, describe, expect, it, vi } from "vitest";
import { RunApprovals, UNASKED } from "../../broker/approvals/approvals.ts";
import { interceptQuestions } from "../../broker/approvals/question-interceptors.ts";
import { interceptCalls } from "../../broker/call-interceptors.ts";
import type { CallOutcome } from "../../broker/dispatcher.ts";
import type { TraceContext } from "../../protocol/trace-context.ts";
import { openTelemetry } from "../../telemetry/open-telemetry.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { toolOf } from "../catalog/tool-of.ts";
import { type OtlpReceiver, startOtlpReceiver } from "./otlp-receiver.ts";

/** Must be nowhere in what is sent. */
const SECRET = "canary-9f1c";
const PARENT = { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", tracestate: "a=1" };
const context = {
  ...{ principal: "https://login.example.com#ada", name: "Ada", groups: ["leads"], source: "run" as const },
  ...{ client: { name: "claude-code" }, clientId: "c-1" },
};

const TOOLS: Record<string, object> = {
  mcp__docs__get: { server: "docs", name: "get" },
  mcp__far__wipe: { server: "far", name: "wipe", host: { address: "api.example.com", port: 8443 } },
  "mcp__docs__resources/read": { server: "docs", name: "resources/read", method: "resources/read" },
  mcp__docs__late: { server: "docs", name: "late" },
};

const OUTCOMES: Record<string, CallOutcome> = {
  mcp__docs__get: { ok: true, data: SECRET, raw: SECRET, bytes: 12, decision: "allowed" },
  mcp__far__wipe: failed("approved-once", { isError: true }),
  "mcp__docs__resources/read": failed("unreachable"),
  mcp__docs__late: { ...failed("allowed"), upstream: "call_timeout" } as CallOutcome,
};

function failed(decision: CallOutcome["decision"], raw?: unknown): CallOutcome {
  const error = {
    type: "ToolError",
    server: SECRET,
    tool: SECRET,
    message: SECRET,
    retryable: false,
  } as const;
  return { ok: false, error, raw, bytes: 0, decision };
}

let receiver: OtlpReceiver;
afterEach(async () => {
  vi.unstubAllEnvs();
  await receiver.close();
});

async function open(behaviour?: Parameters<typeof startOtlpReceiver>[0], more: Record<string, string> = {}) {
  receiver = await startOtlpReceiver(behaviour);
  const env: Record<string, string> = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, ...more };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const warnings: string[] = [];
  const telemetry = await openTelemetry(env, {
    version: "1.2.3",
    onWarning: (message) => warnings.push(message),
  });
  return { telemetry: telemetry as Telemetry, warnings };
}

/** A run with one call of each tool, one of a name that is none, and a question in the call of `wipe`, which a reviewer leaves to a person. */
async function tell(telemetry: Telemetry, parent: TraceContext | undefined) {
  const describeTool = (name: string) => TOOLS[name] as never;
  const run = telemetry.beginRun({ runId: "run-1", context, language: "typescript", parent, describeTool });
  run.onPhase("bundle")();
  const ended = run.onPhase("program");
  const metas: unknown[] = [];
  const approver = interceptQuestions(
    {
      ask: async () => ({ decision: "once", by: SECRET }),
      review: async () => ({ kind: "left", by: SECRET, why: SECRET }),
    },
    [run.aroundQuestions],
  );
  const approvals = new RunApprovals("run-1", approver);
  const calls = interceptCalls(
    {
      async dispatch({ tool }, { meta, signal }) {
        metas.push(meta);
        if (tool === "mcp__far__wipe")
          await approvals.approve(toolOf("far", "wipe"), {}, signal, { reviewer: SECRET });
        return OUTCOMES[tool] ?? failed("unavailable");
      },
    },
    [run.aroundCalls],
  );
  const { signal } = new AbortController();
  for (const tool of [...Object.keys(TOOLS), `mcp__docs__${SECRET}`])
    await calls.dispatch({ tool, arguments: { secret: SECRET } }, { approvals, signal });
  ended();
  const metrics = { duration_ms: 5, tool_calls: 4, tool_result_bytes: 12 };
  const error = { type: "ToolError", message: SECRET, retryable: false } as const;
  run.end({ result: { ok: false, error, metrics }, duration_ms: 7, approval_state: "APPROVED" }, 3);
  return { run, metas };
}

describe("a run that is reported", () => {
  it.each(["http/protobuf", "http/json"])("has spans for its parts, over %s", async (protocol) => {
    const { telemetry, warnings } = await open("takes", {
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_SERVICE_NAME: "mine",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=letmein",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
    });
    telemetry.observePool(() => ({ ready: 2, starting: 1 }));
    const { run, metas } = await tell(telemetry, PARENT);
    await telemetry.close(30_000);
    expect(warnings).toEqual([]);

    const byName = Object.fromEntries(receiver.spans.map((span) => [span.name, span]));
    const idOf = (name: string) => byName[name]?.spanId;
    expect(new Set(receiver.spans.map(({ traceId }) => traceId))).toEqual(new Set([run.traceId]));
    expect(PARENT.traceparent).toContain(run.traceId);
    expect(
      receiver.spans.map(({ name, parentSpanId, kind, status }) => ({ name, parentSpanId, kind, status })),
    ).toEqual([
      { name: "bundle", parentSpanId: idOf("run"), kind: 1, status: 0 },
      { name: "tools/call get", parentSpanId: idOf("program"), kind: 3, status: 0 },
      { name: "review", parentSpanId: idOf("tools/call wipe"), kind: 1, status: 0 },
      { name: "approval", parentSpanId: idOf("tools/call wipe"), kind: 1, status: 0 },
      { name: "tools/call wipe", parentSpanId: idOf("program"), kind: 3, status: 2 },
      { name: "resources/read", parentSpanId: idOf("program"), kind: 3, status: 2 },
      { name: "tools/call late", parentSpanId: idOf("program"), kind: 3, status: 2 },
      { name: "tools/call unknown", parentSpanId: idOf("program"), kind: 3, status: 2 },
      { name: "program", parentSpanId: idOf("run"), kind: 1, status: 0 },
      { name: "run", parentSpanId: "00f067aa0ba902b7", kind: 1, status: 2 },
    ]);
    expect(byName.run?.resource).toMatchObject({
      "service.name": "mine",
      "service.version": "1.2.3",
      "deployment.environment.name": "test",
    });
    expect(byName.run?.attributes).toEqual({
      "ptc.source": "run",
      "ptc.language": "typescript",
      "ptc.run.id": "run-1",
      "user.id": "https://login.example.com#ada",
      "user.full_name": "Ada",
      "user.roles": ["leads"],
      "ptc.client.name": "claude-code",
      "ptc.client.id": "c-1",
      "ptc.approval_state": "APPROVED",
      "ptc.calls": 4,
      "ptc.result.size": 12,
      "ptc.tokens.kept_out": 3,
      "error.type": "ToolError",
    });
    expect(byName["tools/call wipe"]?.attributes).toEqual({
      "mcp.method.name": "tools/call",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "wipe",
      "ptc.server.name": "far",
      "network.transport": "tcp",
      "server.address": "api.example.com",
      "server.port": 8443,
      "ptc.decision": "approved-once",
      "ptc.result.size": 0,
      "error.type": "tool_error",
    });
    expect(byName.review?.attributes).toEqual({ "ptc.server.name": "far", "ptc.decision": "left" });
    expect(byName["resources/read"]?.attributes).toMatchObject({
      "mcp.method.name": "resources/read",
      "network.transport": "pipe",
      "error.type": "unreachable",
    });
    expect(byName["tools/call late"]?.attributes).toMatchObject({ "error.type": "call_timeout" });
    expect(byName["resources/read"]?.attributes).not.toHaveProperty("gen_ai.tool.name");

    const flags = "-01";
    expect(metas[0]).toEqual({
      traceparent: `00-${run.traceId}-${idOf("tools/call get")}${flags}`,
      tracestate: "a=1",
    });

    const points = receiver.points.map(({ name, unit, value, attributes }) => [
      name,
      unit,
      value,
      attributes,
    ]);
    expect(points).toEqual(
      expect.arrayContaining([
        [
          "ptc.runs",
          "{run}",
          1,
          { "ptc.source": "run", "ptc.language": "typescript", "error.type": "ToolError" },
        ],
        ["ptc.run.duration", "s", 1, expect.anything()],
        ["ptc.run.phase.duration", "s", 1, { "ptc.phase": "approval" }],
        ["ptc.tokens.kept_out", "{token}", 3, {}],
        ["ptc.sandbox.pool", "{sandbox}", 2, { "ptc.sandbox.state": "ready" }],
        ["ptc.sandbox.pool", "{sandbox}", 1, { "ptc.sandbox.state": "starting" }],
      ]),
    );
    const counted = (name: string) =>
      receiver.points
        .filter((point) => point.name === name)
        .map(({ attributes }) => attributes["gen_ai.tool.name"]);
    expect(counted("ptc.calls")).toEqual(["get", "wipe", undefined, "late", "unknown"]);
    // What was not sent took no server's time.
    expect(counted("mcp.client.operation.duration")).toEqual(["get", "wipe", "late"]);

    const [first] = receiver.requests;
    expect(first?.headers).toMatchObject({ "x-key": "letmein", "content-encoding": "gzip" });
    for (const { body } of receiver.requests) expect(body.includes(SECRET)).toBe(false);
  });

  it("is in the trace of the request that is served just then, and a trace of its own without any", async () => {
    const { telemetry } = await open();
    await telemetry.serve(
      { tool: "execute_program", requestId: 5, session: "session-1", parent: PARENT },
      async () => {
        telemetry.queued()();
        return tell(telemetry, undefined);
      },
      () => true,
    );
    const { run: alone } = await tell(telemetry, undefined);
    await telemetry.close(30_000);
    const [served] = receiver.spans.filter(({ name }) => name === "tools/call execute_program");
    expect(served).toMatchObject({
      kind: 2,
      status: 2,
      parentSpanId: "00f067aa0ba902b7",
      attributes: {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "execute_program",
        "jsonrpc.request.id": "5",
        "mcp.session.id": "session-1",
        "error.type": "tool_error",
      },
    });
    const parents = receiver.spans.flatMap(({ name, parentSpanId }) =>
      name === "run" || name === "queue" ? [[name, parentSpanId]] : [],
    );
    expect(parents).toEqual([
      ["queue", served?.spanId],
      ["run", served?.spanId],
      ["run", ""],
    ]);
    expect(alone.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(receiver.points.map(({ name }) => name)).toContain("mcp.server.operation.duration");
  });

  it("is two spans where it was suspended, of which the later links to the earlier, and is counted once", async () => {
    const { telemetry } = await open();
    const facts = {
      runId: "run-1",
      context,
      language: "typescript",
      describeTool: () => TOOLS.mcp__docs__get as never,
    };
    const before = telemetry.beginRun({ ...facts, parent: PARENT });
    const { signal } = new AbortController();
    const approvals = new RunApprovals("run-1", { ask: async () => UNASKED });
    const waiting = interceptCalls({ dispatch: () => new Promise(() => {}) }, [before.aroundCalls]);
    void waiting.dispatch({ tool: "mcp__docs__get", arguments: {} }, { approvals, signal });
    const metrics = { duration_ms: 5, tool_calls: 1, tool_result_bytes: 0 };
    const error = { type: "ApprovalPending", message: SECRET, retryable: false } as const;
    before.end({ result: { ok: false, error, metrics }, duration_ms: 7, approval_state: "NOT_REQUIRED" }, 0);
    const after = telemetry.beginRun({ ...facts, parent: undefined, earlier: before.place });
    after.end({ result: { ok: true, data: 1, metrics }, duration_ms: 9, approval_state: "APPROVED" }, 0);
    await telemetry.close(30_000);
    const [call, first, second] = receiver.spans;
    expect(call).toMatchObject({
      name: "tools/call get",
      status: 0,
      attributes: { "ptc.decision": "suspended" },
    });
    expect(first).toMatchObject({
      name: "run",
      status: 0,
      links: [],
      attributes: { "ptc.run.suspended": true },
    });
    expect(second).toMatchObject({
      name: "run",
      traceId: after.traceId,
      links: [{ traceId: before.traceId, spanId: first?.spanId }],
    });
    expect(after.traceId).not.toBe(before.traceId);
    const runs = receiver.points.filter(({ name }) => name === "ptc.runs");
    expect(runs).toMatchObject([{ value: 1, attributes: { "ptc.source": "run" } }]);
  });

  it("is not sent where its trace is not sampled, and servers are told so", async () => {
    const { telemetry } = await open("takes", { OTEL_METRICS_EXPORTER: "none" });
    const parent = { traceparent: PARENT.traceparent.replace(/01$/, "00") };
    const { run, metas } = await tell(telemetry, parent);
    await telemetry.close(30_000);
    expect(receiver.requests).toEqual([]);
    expect(parent.traceparent).toContain(run.traceId);
    expect(metas[0]).toEqual({
      traceparent: expect.stringMatching(new RegExp(`^00-${run.traceId}-\\w{16}-00$`)),
    });
  });

  it("is in its parent's trace where metrics alone are sent, and servers receive nothing where that is turned off", async () => {
    const { telemetry } = await open("takes", { OTEL_TRACES_EXPORTER: "none" });
    const { run, metas } = await tell(telemetry, PARENT);
    await telemetry.close(30_000);
    expect(PARENT.traceparent).toContain(run.traceId);
    expect(metas[0]).toEqual(PARENT);
    expect(receiver.requests.map(({ path }) => path)).toEqual(["/v1/metrics"]);
    await receiver.close();
    const { telemetry: silent } = await open("takes", { OTEL_PROPAGATORS: "none" });
    expect((await tell(silent, PARENT)).metas[0]).toBeUndefined();
    await silent.close(30_000);
  });
});

describe("a collector", () => {
  it.each<[string, Parameters<typeof startOtlpReceiver>[0], string]>([
    ["that hangs", "hangs", "no answer in time"],
    ["that refuses", 400, "HTTP 400"],
  ])("%s is reported once and waited for no longer than that", async (_, behaviour, why) => {
    const { telemetry, warnings } = await open(behaviour);
    await tell(telemetry, undefined);
    await telemetry.close(behaviour === "hangs" ? 50 : 30_000);
    expect(warnings).toEqual([
      `telemetry could not be sent to the collector (${why}); runs are not affected`,
    ]);
  });

  it("that is not there does no harm, and spans that it does not take are not kept for ever", async () => {
    const { telemetry, warnings } = await open("takes", {
      OTEL_EXPORTER_OTLP_TIMEOUT: "50",
      OTEL_BSP_MAX_QUEUE_SIZE: "4",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "4",
    });
    await receiver.close();
    for (let i = 0; i < 100; i++) await tell(telemetry, undefined);
    await telemetry.close(30_000);
    expect(warnings).toHaveLength(1);
  });
});
