import { Agent } from "node:http";
import * as https from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Context,
  context,
  createNoopMeter,
  ProxyTracerProvider,
  SpanKind,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { globalErrorHandler, setGlobalErrorHandler } from "@opentelemetry/core";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type Span,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { outsideBoundaries } from "../../base/faults.ts";
import { requestOptionsFor } from "../../system/outgoing.ts";
import type { SignalSettings, TelemetrySettings } from "../settings.ts";
import type {
  BegunRunFacts,
  PoolState,
  ServedRequest,
  Telemetry,
  TelemetryOptions,
  TracedRun,
} from "../telemetry.ts";
import { nameRequest } from "./attributes.ts";
import { Instruments } from "./instruments.ts";
import { endSpan, OpenRun, type Signals } from "./traced-run.ts";
import { contextOf } from "./w3c.ts";

/** Telemetry through the official SDK. Signals wait in bounded queues, and are lost when those are full. */
export class OpenTelemetry implements Telemetry {
  readonly #providers: Providers;
  readonly #signals: Signals;
  readonly scrape?: () => Promise<string>;

  private constructor(providers: Providers, { propagates }: TelemetrySettings, version: string) {
    this.#providers = providers;
    const { tracers, meters, scrape } = providers;
    if (scrape !== undefined) this.scrape = scrape;
    this.#signals = {
      // Without an SDK behind it, the tracer's spans stand for their parents, which are passed on.
      tracer: (tracers ?? new ProxyTracerProvider()).getTracer("ptc", version),
      instruments: new Instruments(meters?.getMeter("ptc", version) ?? createNoopMeter()),
      propagates,
    };
  }

  static async start(settings: TelemetrySettings, options: TelemetryOptions): Promise<OpenTelemetry> {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    return new OpenTelemetry(await startProviders(settings, options), settings, options.version);
  }

  beginRun(run: BegunRunFacts): TracedRun {
    const active = context.active();
    return new OpenRun(
      run,
      this.#signals,
      trace.getSpan(active) === undefined ? contextOf(run.parent) : active,
    );
  }

  async serve<T>(
    { tool, requestId, session, parent }: ServedRequest,
    answer: () => Promise<T>,
    isError: (answer: T) => boolean,
  ): Promise<T> {
    const { name, attributes } = nameRequest(tool);
    const within = contextOf(parent);
    const span = this.#signals.tracer.startSpan(
      name,
      {
        kind: SpanKind.SERVER,
        attributes: {
          ...attributes,
          "jsonrpc.request.id": String(requestId),
          ...(session === undefined ? {} : { "mcp.session.id": session }),
        },
      },
      within,
    );
    const begun = performance.now();
    let errorType: string | undefined = "_OTHER";
    try {
      const answered = await context.with(trace.setSpan(within, span), answer);
      errorType = isError(answered) ? "tool_error" : undefined;
      return answered;
    } finally {
      endSpan(span, errorType);
      this.#signals.instruments.request(
        performance.now() - begun,
        errorType === undefined ? attributes : { ...attributes, "error.type": errorType },
      );
    }
  }

  queued(): () => void {
    const begun = performance.now();
    const { tracer, instruments } = this.#signals;
    const span = tracer.startSpan("queue", {}, context.active());
    instruments.queue(1);
    return () => {
      span.end();
      instruments.queue(-1);
      instruments.phase("queue", performance.now() - begun);
    };
  }

  observePool(read: () => PoolState): void {
    this.#signals.instruments.observePool(read);
  }

  async close(patienceMs: number): Promise<void> {
    const { tracers, meters } = this.#providers;
    const late = delay(patienceMs, undefined, { ref: false }).then(() => {
      throw new Error("the collector did not answer in time");
    });
    const sent = Promise.all([tracers?.shutdown(), meters?.shutdown()]);
    await Promise.race([sent, late]).catch(globalErrorHandler);
  }
}

/** The longest text of an attribute. Tool names are shorter; longer texts are cut. */
const MAX_ATTRIBUTE_CHARS = 256;
/** The time for one export, unless `OTEL_BSP_EXPORT_TIMEOUT` says otherwise. */
const EXPORT_TIMEOUT_MS = 10_000;
/** The maximum number of series of one instrument. Servers decide how many tools they have. */
const MAX_SERIES = 1_000;

interface Providers {
  tracers: TracerProvider | undefined;
  meters: MeterProvider | undefined;
  /** Reads the metrics for Prometheus. */
  scrape?: (() => Promise<string>) | undefined;
}

/** Starts the providers that send spans and metrics. */
async function startProviders(
  { traces, metrics, sampler, batch, reader }: TelemetrySettings,
  { version, isScraped = false, onWarning }: TelemetryOptions,
): Promise<Providers> {
  warnOnce(onWarning);
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "ptc", "service.version": version }))
    .merge(detectResources({ detectors: [envDetector] }));
  const [spanExporter, metricExporter, scraped] = await Promise.all([
    traces === undefined ? undefined : openSpanExporter(traces),
    metrics === undefined ? undefined : openMetricExporter(metrics),
    isScraped ? openScraped() : undefined,
  ]);
  const sent = metricExporter && [
    new PeriodicExportingMetricReader({
      ...defined(reader),
      exporter: metricExporter,
      cardinalityLimits: { default: MAX_SERIES },
    }),
  ];
  const readers = [...(sent ?? []), ...(scraped === undefined ? [] : [scraped.reader])];
  return {
    tracers:
      spanExporter &&
      new TracerProvider({
        resource,
        sampler: buildSampler(sampler),
        spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARS },
        spanProcessors: [
          new UnboundProcessor(
            new BatchSpanProcessor({
              exportTimeoutMillis: EXPORT_TIMEOUT_MS,
              ...defined(batch),
              exporter: spanExporter,
            }),
          ),
        ],
      }),
    meters: readers.length === 0 ? undefined : new MeterProvider({ resource, readers }),
    scrape: scraped?.scrape,
  };
}

/** Keeps metrics until they are scraped. It does not listen on any port. */
async function openScraped() {
  const { PrometheusExporter, PrometheusSerializer } = await import("@opentelemetry/exporter-prometheus");
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer();
  return {
    reader,
    scrape: async () => serializer.serialize((await reader.collect()).resourceMetrics),
  };
}

async function openSpanExporter({ protocol }: SignalSettings): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-trace-otlp-http")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter({ httpAgentOptions: agentOf("TRACES") });
}

async function openMetricExporter({ protocol }: SignalSettings): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-metrics-otlp-http")
      : await import("@opentelemetry/exporter-metrics-otlp-proto");
  return new OTLPMetricExporter({ httpAgentOptions: agentOf("METRICS") });
}

/** How to reach the collector of a signal: by its own variable, or by that of all signals (OTLP Exporter Configuration). */
function agentOf(signal: "TRACES" | "METRICS") {
  const { [`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]: own, OTEL_EXPORTER_OTLP_ENDPOINT: shared } = process.env;
  return async (protocol: string): Promise<Agent> => {
    const endpoint = own || shared || `${protocol}//localhost:4318`;
    const { agent, ...trusted } = requestOptionsFor(new URL(endpoint));
    if (agent !== undefined) return agent;
    return protocol === "https:"
      ? new https.Agent({ keepAlive: true, ...trusted })
      : new Agent({ keepAlive: true });
  };
}

function buildSampler({ name, ratio }: TelemetrySettings["sampler"]): Sampler {
  const roots = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  const [, parent, root] = /^(parentbased_)?(.*)$/.exec(name) ?? [];
  const sampler = roots[root as keyof typeof roots]();
  return parent === undefined ? sampler : new ParentBasedSampler({ root: sampler });
}

/**
 * Warns once that a collector does not accept telemetry, with only a code: the collector's answer is not shown, and the exporter's
 * error may contain headers.
 */
function warnOnce(onWarning: TelemetryOptions["onWarning"]): void {
  let isTold = false;
  setGlobalErrorHandler((error) => {
    if (isTold) return;
    isTold = true;
    const code = (error as { code?: unknown } | undefined)?.code;
    const why =
      typeof code === "number" ? `HTTP ${code}` : typeof code === "string" ? code : "no answer in time";
    onWarning(`telemetry could not be sent to the collector (${why}); runs are not affected`);
  });
}

/** Passes spans on outside the boundary of the run that they describe, so that a fault during export does not end the run. */
class UnboundProcessor implements SpanProcessor {
  readonly #inner: SpanProcessor;

  constructor(inner: SpanProcessor) {
    this.#inner = inner;
  }

  onStart(span: Span, parent: Context): void {
    this.#inner.onStart(span, parent);
  }

  onEnd(span: ReadableSpan): void {
    outsideBoundaries(() => this.#inner.onEnd(span));
  }

  forceFlush(): Promise<void> {
    return this.#inner.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }
}

/** Removes unset options: the SDK applies a default only if the member is missing. */
function defined<T extends object>(options: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const set = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [K in keyof T]?: NonNullable<T[K]> };
}
