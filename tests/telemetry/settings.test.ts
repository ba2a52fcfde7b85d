import { describe, expect, it } from "vitest";
import { readTelemetrySettings } from "../../telemetry/settings.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
const PROTOBUF = { protocol: "http/protobuf" };

function sent(env: Record<string, string>) {
  const { traces, metrics, problems } = readTelemetrySettings(env) ?? {};
  return { traces, metrics, problems };
}

describe("what the variables of OpenTelemetry ask for", () => {
  it.each<[string, Record<string, string>]>([
    ["nothing is set", {}],
    ["only the name of the service is", { OTEL_SERVICE_NAME: "x", OTEL_RESOURCE_ATTRIBUTES: "a=b" }],
    ["the SDK is disabled", { ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }],
    ["no exporter is wanted", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" }],
    ["the endpoint is empty", { OTEL_EXPORTER_OTLP_ENDPOINT: " " }],
  ])("is nothing where %s", (_, env) => {
    expect(readTelemetrySettings(env)).toBeUndefined();
  });

  it("are spans and metrics by an endpoint or an exporter, each in its protocol", () => {
    const json = { protocol: "http/json" };
    expect(sent(ENDPOINT)).toEqual({ traces: PROTOBUF, metrics: PROTOBUF, problems: [] });
    expect(sent({ OTEL_TRACES_EXPORTER: "otlp" })).toEqual({
      traces: PROTOBUF,
      metrics: undefined,
      problems: [],
    });
    expect(sent({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "https://x/v1/metrics" })).toMatchObject({
      traces: undefined,
      metrics: PROTOBUF,
    });
    expect(sent({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" })).toMatchObject({
      traces: json,
      metrics: json,
    });
    expect(
      sent({
        ...ENDPOINT,
        OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
      }),
    ).toMatchObject({ traces: json, metrics: undefined });
  });

  it.each<[Record<string, string>, string]>([
    [
      { OTEL_TRACES_EXPORTER: "console" },
      "OTEL_TRACES_EXPORTER: 'console' is not offered, only otlp and none",
    ],
    [{ OTEL_METRICS_EXPORTER: "prometheus,otlp" }, "OTEL_METRICS_EXPORTER: 'prometheus' is not offered"],
    [
      { ...ENDPOINT, OTEL_METRICS_EXPORTER: "none", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      "'grpc' is not offered, only http/protobuf and http/json; traces are not sent",
    ],
    [
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "localhost:4317" },
      "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not an http or https address; traces are not sent",
    ],
    [
      { ...ENDPOINT, OTEL_TRACES_SAMPLER: "jaeger_remote" },
      "OTEL_TRACES_SAMPLER: 'jaeger_remote' is not offered",
    ],
    [
      { ...ENDPOINT, OTEL_TRACES_SAMPLER_ARG: "2" },
      "OTEL_TRACES_SAMPLER_ARG: '2' is not a number from 0 to 1; 1 is used",
    ],
    [
      { ...ENDPOINT, OTEL_BSP_SCHEDULE_DELAY: "soon" },
      "OTEL_BSP_SCHEDULE_DELAY: 'soon' is not a whole number above 0; the default is used",
    ],
  ])("is told where it is not offered: %j", (env, problem) => {
    expect(sent(env).problems).toEqual([expect.stringContaining(problem)]);
  });

  it("are sampler, batches and the trace in requests too", () => {
    expect(readTelemetrySettings(ENDPOINT)).toMatchObject({
      sampler: { name: "parentbased_always_on", ratio: 1 },
      propagates: true,
    });
    expect(
      readTelemetrySettings({
        ...ENDPOINT,
        OTEL_TRACES_SAMPLER: "traceidratio",
        OTEL_TRACES_SAMPLER_ARG: "0.25",
        OTEL_PROPAGATORS: "b3",
        OTEL_BSP_MAX_QUEUE_SIZE: "10",
        OTEL_METRIC_EXPORT_INTERVAL: "1000",
      }),
    ).toMatchObject({
      sampler: { name: "traceidratio", ratio: 0.25 },
      propagates: false,
      batch: { maxQueueSize: 10, scheduledDelayMillis: undefined },
      reader: { exportIntervalMillis: 1_000 },
    });
  });
});
