import type { Attributes, Meter } from "@opentelemetry/api";
import type { PoolState } from "../telemetry.ts";

/** Seconds (semantic conventions for MCP, "Metric: `mcp.client.operation.duration`"). */
const BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

const seconds = (description: string) => ({
  description,
  unit: "s",
  advice: { explicitBucketBoundaries: BOUNDARIES },
});

/** The metrics of ptc. Durations are passed in milliseconds. */
export class Instruments {
  readonly #meter: Meter;
  readonly #runs;
  readonly #runDuration;
  readonly #phaseDuration;
  readonly #calls;
  readonly #clientDuration;
  readonly #serverDuration;
  readonly #keptTokens;
  readonly #waiting;

  constructor(meter: Meter) {
    this.#meter = meter;
    this.#runs = meter.createCounter("ptc.runs", { description: "Programs that have ended.", unit: "{run}" });
    this.#runDuration = meter.createHistogram("ptc.run.duration", seconds("Duration of runs."));
    this.#phaseDuration = meter.createHistogram(
      "ptc.run.phase.duration",
      seconds("Duration of parts of runs, by `ptc.phase`."),
    );
    this.#calls = meter.createCounter("ptc.calls", {
      description: "Calls of programs, by what was decided about them.",
      unit: "{call}",
    });
    this.#clientDuration = meter.createHistogram(
      "mcp.client.operation.duration",
      seconds("Duration of requests to servers, without the time that a person took."),
    );
    this.#serverDuration = meter.createHistogram(
      "mcp.server.operation.duration",
      seconds("Duration of requests of the client."),
    );
    this.#keptTokens = meter.createCounter("ptc.tokens.kept_out", {
      description: "Tokens of results that no model had to read, by an estimate of 4 bytes each.",
      unit: "{token}",
    });
    this.#waiting = meter.createUpDownCounter("ptc.queue.length", {
      description: "Programs and single calls that wait for their turn.",
      unit: "{request}",
    });
    // What scales by it finds it before anything has waited.
    this.#waiting.add(0);
  }

  run(durationMs: number, keptTokens: number, attributes: Attributes): void {
    this.#runs.add(1, attributes);
    this.#runDuration.record(durationMs / 1_000, attributes);
    if (keptTokens > 0) this.#keptTokens.add(keptTokens);
  }

  phase(phase: string, durationMs: number): void {
    this.#phaseDuration.record(durationMs / 1_000, { "ptc.phase": phase });
  }

  /** @param sentMs how long the server took; `undefined` for a call that was not sent. */
  call(decision: string, sentMs: number | undefined, attributes: Attributes): void {
    this.#calls.add(1, { ...attributes, "ptc.decision": decision });
    if (sentMs !== undefined) this.#clientDuration.record(sentMs / 1_000, attributes);
  }

  request(durationMs: number, attributes: Attributes): void {
    this.#serverDuration.record(durationMs / 1_000, attributes);
  }

  /** @param change 1 when a program begins to wait for its turn, and -1 when it has waited. */
  queue(change: 1 | -1): void {
    this.#waiting.add(change);
  }

  observePool(read: () => PoolState): void {
    const sandboxes = this.#meter.createObservableGauge("ptc.sandbox.pool", {
      description: "Sandboxes that are kept for programs, by `ptc.sandbox.state`.",
      unit: "{sandbox}",
    });
    sandboxes.addCallback((result) => {
      const { ready, starting } = read();
      result.observe(ready, { "ptc.sandbox.state": "ready" });
      result.observe(starting, { "ptc.sandbox.state": "starting" });
    });
  }
}
