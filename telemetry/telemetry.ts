import type { QuestionInterceptor } from "../broker/approvals/question-interceptors.ts";
import type { CallInterceptor } from "../broker/call-interceptors.ts";
import type { Envelope } from "../protocol/envelope.ts";
import type { OnPhase, RunContext } from "../protocol/run-context.ts";
import type { TraceContext } from "../protocol/trace-context.ts";

/**
 * What ptc tells a collector of its work: spans and metrics, without arguments, results, messages and secrets, and without any
 * name that a program has made up. Nothing here throws, and nothing waits for the collector but `close`.
 */
export interface Telemetry {
  /** Begins to tell of a run. Its parent is the request that is served just now, else `parent`. */
  beginRun(run: BegunRunFacts): TracedRun;
  /** Tells of a client's call of one of ptc's own tools around the answer to it. `isError` says whether an answer is a failure. */
  serve<T>(request: ServedRequest, answer: () => Promise<T>, isError: (answer: T) => boolean): Promise<T>;
  /** Tells that a program waits for its turn. What it returns is called when it waits no more. */
  queued(): () => void;
  /** Has the state of the sandbox pool read whenever metrics are sent. */
  observePool(read: () => PoolState): void;
  /** The metrics as Prometheus reads them (text format 0.0.4); absent where nobody comes for them. */
  scrape?(): Promise<string>;
  /** Sends what has not been sent, within this time. Reports nothing after that. Never rejects. */
  close(patienceMs: number): Promise<void>;
}

export interface TelemetryOptions {
  /** The version of ptc. */
  version: string;
  /** Whether metrics are kept for somebody who comes for them. By default they are not. */
  isScraped?: boolean | undefined;
  /** Receives a line about settings that cannot be followed, and one when a collector does not accept what it is sent. */
  onWarning: (message: string) => void;
}

export interface BegunRunFacts {
  runId: string;
  context: RunContext;
  language: string;
  parent: TraceContext | undefined;
  /** Where the run was reported before it was suspended. */
  earlier?: TraceContext | undefined;
  /** What is known of a tool by the name that a program calls it by; `undefined` for a name of no tool. */
  describeTool: (name: string) => CalledTool | undefined;
}

/** A tool of a server, as conventions for MCP name it. */
export interface CalledTool {
  /** Configured name of the server. */
  server: string;
  /** Protocol name. */
  name: string;
  /** Where it is no tool: the method of the protocol. */
  method?: string | undefined;
  /** Where the server is reached; `undefined` for one that is started here. */
  host?: { address: string; port: number } | undefined;
}

/** One run, as it is reported. */
export interface TracedRun {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The run's place in the traces; `undefined` where it is not reported. */
  readonly place: TraceContext | undefined;
  readonly onPhase: OnPhase;
  /** Tells of each call around the dispatcher's answer, and passes the trace on to the server. */
  readonly aroundCalls: CallInterceptor;
  /** Tells of each question around the person's answer. */
  readonly aroundQuestions: QuestionInterceptor;
  /** @param keptTokens how many tokens of results no model had to read, by estimate. */
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
