import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { fixtureServer, Project } from "../cli/ptc-process.ts";
import { startOtlpReceiver } from "./otlp-receiver.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

/** Names each module of OpenTelemetry on stderr as it is loaded. */
const NAMES_MODULES = `--import=data:text/javascript,${encodeURIComponent(
  'import { registerHooks } from "node:module"; registerHooks({ load(url, context, next) { if (/@opentelemetry|telemetry-sdk/.test(url)) process._rawDebug(`loaded ${url}`); return next(url, context); } });',
)}`;

const folder = mkdtempSync(join(tmpdir(), "ptc-told-"));
const project = new Project(folder, join(import.meta.dirname, "../../cli/start.ts"));
const HOME = { HOME: folder, XDG_STATE_HOME: undefined, XDG_CONFIG_HOME: undefined };
beforeAll(async () => {
  project.write("ptc.yaml", { servers: [fixtureServer("meta", "shows-meta.mjs")] });
  expect(await project.ptc(["generate"], { env: HOME })).toMatchObject({ code: 0 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const call = (args: string[], env: Record<string, string>) =>
  project.ptc(["call", ...args], { env: { ...HOME, ...env } });

async function receive(behaviour?: Parameters<typeof startOtlpReceiver>[0]) {
  const receiver = await startOtlpReceiver(behaviour);
  onTestFinished(() => receiver.close());
  return receiver;
}

describe("a call from a shell", () => {
  it("is reported in the caller's trace, and the server in the call's", async () => {
    const receiver = await receive();
    const env = { TRACEPARENT, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint };
    const { code, stdout, stderr } = await call(["meta.show", "--json", '{"key":"canary-9f1c"}'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [, span] =
      /^00-4bf92f3577b34da6a3ce929d0e0e4736-(\w{16})-01$/.exec(JSON.parse(stdout).meta.traceparent) ?? [];
    const told = receiver.spans.map(({ traceId, spanId, parentSpanId, name }) => [
      traceId,
      name,
      spanId,
      parentSpanId,
    ]);
    expect(told).toEqual([
      [TRACE, "tools/call show", span, told[1]?.[2]],
      [TRACE, "run", expect.any(String), "00f067aa0ba902b7"],
    ]);
    expect(receiver.points.map(({ name }) => name)).toContain("ptc.runs");
    for (const { body } of receiver.requests) expect(body.includes("canary-9f1c")).toBe(false);
  });

  it("loads nothing of OpenTelemetry where nothing asks for it, and passes the caller's trace on all the same", async () => {
    const traced = await call(["meta.show"], { TRACEPARENT, NODE_OPTIONS: NAMES_MODULES });
    expect(traced).toEqual({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining(`"traceparent":"${TRACEPARENT}"`),
    });
    const envelope = await call(["meta.show", "--envelope"], { TRACEPARENT });
    expect(JSON.parse(envelope.stdout).trace_id).toBe(TRACE);
    const untraced = await call(["meta.show"], {});
    expect(JSON.parse(untraced.stdout).meta).toEqual({});
    // What would be loaded is noticed.
    const loading = await call(["meta.show"], {
      NODE_OPTIONS: NAMES_MODULES,
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    });
    expect(loading.stderr).toMatch(/loaded .*open-telemetry-sdk/);
  });

  it("has its answer and its exit code whatever the collector does", async () => {
    const receiver = await receive("hangs");
    const hanging = await call(["meta.show"], { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint });
    expect(hanging).toMatchObject({ code: 0, stdout: expect.stringContaining('"meta"') });
    expect(hanging.stderr).toMatch(/^ptc: warning: telemetry could not be sent .*\n$/);
    const refused = await call(["meta.fail"], { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    const wrong = await call(["meta.show"], { OTEL_TRACES_EXPORTER: "console" });
    expect(wrong).toMatchObject({
      code: 0,
      stderr: "ptc: warning: OTEL_TRACES_EXPORTER: 'console' is not offered, only otlp and none\n",
    });
  });
});
