import { setTimeout as delay } from "node:timers/promises";
import { context, createNoopMeter, ProxyTracerProvider, SpanKind, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { globalErrorHandler } from "@opentelemetry/core";
import type { TelemetrySettings } from "../settings.ts";
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
import { type Providers, startProviders } from "./providers.ts";
import { endSpan, OpenRun, type Signals } from "./traced-run.ts";
import { contextOf } from "./w3c.ts";

/** Telemetry by the official SDK. Whatever it sends is held in bounded queues, and lost when those are full. */
export class OpenTelemetry implements Telemetry {
  readonly #providers: Providers;
  readonly #signals: Signals;

  private constructor(providers: Providers, { propagates }: TelemetrySettings, version: string) {
    this.#providers = providers;
    const { tracers, meters } = providers;
    this.#signals = {
      // Without an SDK behind it, the tracer's spans are the places of their parents, which are passed on.
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
    const span = this.#signals.tracer.startSpan("queue", {}, context.active());
    return () => {
      span.end();
      this.#signals.instruments.phase("queue", performance.now() - begun);
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
