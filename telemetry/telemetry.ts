import type { QuestionInterceptor } from "../broker/approvals/question-interceptors.ts";
import type { CallInterceptor } from "../broker/call-interceptors.ts";
import type { Envelope } from "../protocol/envelope.ts";
import type { OnPhase, RunContext } from "../protocol/run-context.ts";
import type { TraceContext } from "../protocol/trace-context.ts";

/**
 * Reports ptc's work to a collector: spans and metrics, without arguments, results, messages or secrets, and without any name that a
 * program made up. Nothing here throws, and only `close` waits for the collector.
 */
export interface Telemetry {
  /** Begins to report a run. Its parent is the request being served, else `parent`. */
  beginRun(run: BegunRunFacts): TracedRun;
  /** Reports a client's call of one of ptc's own tools, around `answer`. `isError` says whether an answer is a failure. */
  serve<T>(request: ServedRequest, answer: () => Promise<T>, isError: (answer: T) => boolean): Promise<T>;
  /** Reports that a program waits for its turn. Call the returned function when the wait is over. */
  queued(): () => void;
  /** Reads the state of the sandbox pool whenever metrics are sent. */
  observePool(read: () => PoolState): void;
  /** The metrics as Prometheus reads them (text format 0.0.4); absent if they are not scraped. */
  scrape?(): Promise<string>;
  /** Sends everything still unsent, within this time. Reports nothing after that. Never rejects. */
  close(patienceMs: number): Promise<void>;
}

export interface TelemetryOptions {
  /** The version of ptc. */
  version: string;
  /** Whether metrics are kept to be scraped. By default they are not. */
  isScraped?: boolean | undefined;
  /** Receives a line for each setting that cannot be applied, and one when a collector does not accept telemetry. */
  onWarning: (message: string) => void;
}

export interface BegunRunFacts {
  runId: string;
  context: RunContext;
  language: string;
  parent: TraceContext | undefined;
  /** The trace context of the run before it was suspended. */
  earlier?: TraceContext | undefined;
  /** Describes the tool that a program calls by this name; `undefined` for an unknown name. */
  describeTool: (name: string) => CalledTool | undefined;
}

/** A tool of a server, as named by the conventions for MCP. */
export interface CalledTool {
  /** Configured name of the server. */
  server: string;
  /** Protocol name. */
  name: string;
  /** The protocol method, if this is not a tool. */
  method?: string | undefined;
  /** The address of the server; `undefined` for one that is started here. */
  host?: { address: string; port: number } | undefined;
}

/** One run, as it is reported. */
export interface TracedRun {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The trace context of the run; `undefined` if it is not reported. */
  readonly place: TraceContext | undefined;
  readonly onPhase: OnPhase;
  /** Reports each call around the dispatcher's answer, and passes the trace context on to the server. */
  readonly aroundCalls: CallInterceptor;
  /** Reports each question around the person's answer. */
  readonly aroundQuestions: QuestionInterceptor;
  /** @param keptTokens an estimate of the tokens of results that no model had to read. */
  end(envelope: Pick<Envelope, "result" | "duration_ms" | "approval_state">, keptTokens: number): void;
}

export interface ServedRequest {
  tool: string;
  requestId: string | number;
  session: string | undefined;
  parent: TraceContext | undefined;
}

export interface PoolState {
  /** Started sandboxes that wait for a program. */
  ready: number;
  /** Sandboxes that are being started for the pool. */
  starting: number;
}
