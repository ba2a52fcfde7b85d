import { randomBytes } from "node:crypto";
import {
  type Context,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { QuestionInterceptor } from "../../broker/approvals/question-interceptors.ts";
import type { CallInterceptor } from "../../broker/call-interceptors.ts";
import type { OnPhase } from "../../protocol/run-context.ts";
import type { TraceContext } from "../../protocol/trace-context.ts";
import type { BegunRunFacts, TracedRun } from "../telemetry.ts";
import { errorTypeOf, isSent, nameCall } from "./attributes.ts";
import type { Instruments } from "./instruments.ts";
import { linksTo, metaOf } from "./w3c.ts";

export interface Signals {
  tracer: Tracer;
  instruments: Instruments;
  /** Whether requests to servers carry the trace context. */
  propagates: boolean;
}

/** How long the current call has waited for a person. */
interface Waited {
  ms: number;
}

/** The context key under which the asynchronous work of a call finds its `Waited`. */
const WAITED = Symbol("ptc.waited");

/** On whose behalf a run is, by the conventions for users, and through what client. Metrics have none of it. */
function whoseOf({ principal, name, groups = [], client, clientId }: BegunRunFacts["context"]) {
  return {
    "user.id": principal,
    ...(name === undefined ? {} : { "user.full_name": name }),
    ...(groups.length === 0 ? {} : { "user.roles": [...groups] }),
    ...(client === undefined ? {} : { "ptc.client.name": client.name }),
    ...(clientId === undefined ? {} : { "ptc.client.id": clientId }),
  };
}

/** One run: a span, with spans for its parts, for its calls within the program, and for questions within the calls. */
export class OpenRun implements TracedRun {
  readonly traceId: string;
  readonly #signals: Signals;
  readonly #describeTool: BegunRunFacts["describeTool"];
  readonly #attributes: { "ptc.source": string; "ptc.language": string };
  readonly #span: Span;
  readonly #within: Context;
  /** The spans of calls that have no answer yet. */
  readonly #open = new Set<Span>();
  /** The parent of calls: the program, once it is in its sandbox. */
  #calling: Context;

  constructor(
    { runId, context, language, earlier, describeTool }: BegunRunFacts,
    signals: Signals,
    parent: Context,
  ) {
    this.#signals = signals;
    this.#describeTool = describeTool;
    this.#attributes = { "ptc.source": context.source, "ptc.language": language };
    this.#span = signals.tracer.startSpan(
      "run",
      {
        kind: SpanKind.INTERNAL,
        attributes: { ...this.#attributes, "ptc.run.id": runId, ...whoseOf(context) },
        links: linksTo(earlier),
      },
      parent,
    );
    this.#within = trace.setSpan(parent, this.#span);
    this.#calling = this.#within;
    const { traceId } = this.#span.spanContext();
    this.traceId = /^0+$/.test(traceId) ? randomBytes(16).toString("hex") : traceId;
  }

  get place(): TraceContext | undefined {
    const { traceparent, tracestate } = metaOf(this.#span) ?? {};
    return traceparent === undefined
      ? undefined
      : { traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
  }

  get onPhase(): OnPhase {
    return (phase) => {
      const begun = performance.now();
      const span = this.#signals.tracer.startSpan(phase.replace("_", " "), {}, this.#within);
      if (phase === "program") this.#calling = trace.setSpan(this.#within, span);
      return () => {
        span.end();
        this.#signals.instruments.phase(phase, performance.now() - begun);
      };
    };
  }

  readonly aroundCalls: CallInterceptor = (next) => async (call, run) => {
    const { tracer, instruments, propagates } = this.#signals;
    const { name, attributes } = nameCall(this.#describeTool(call.tool));
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, this.#calling);
    const waited: Waited = { ms: 0 };
    const within = trace.setSpan(this.#calling, span).setValue(WAITED, waited);
    const begun = performance.now();
    let errorType: string | undefined = "_OTHER";
    this.#open.add(span);
    try {
      const outcome = await context.with(within, () =>
        next(call, propagates ? { ...run, meta: { ...run.meta, ...metaOf(span) } } : run),
      );
      errorType = errorTypeOf(outcome);
      const { decision, bytes } = outcome;
      span.setAttributes({ "ptc.decision": decision, "ptc.result.size": bytes });
      instruments.call(
        decision,
        isSent(outcome) ? Math.max(0, performance.now() - begun - waited.ms) : undefined,
        errorType === undefined ? attributes : { ...attributes, "error.type": errorType },
      );
      return outcome;
    } finally {
      if (this.#open.delete(span)) endSpan(span, errorType);
    }
  };

  readonly aroundQuestions: QuestionInterceptor = (next) => ({
    ask: (request, signal) =>
      this.#question(
        "approval",
        this.#describeTool(request.tool)?.server,
        () => next.ask(request, signal),
        ({ decision, isUnasked }) => (isUnasked === true ? "unasked" : decision),
      ),
    review: (request, reviewer, signal) =>
      this.#question(
        "review",
        this.#describeTool(request.tool)?.server,
        () => next.review(request, reviewer, signal),
        (review) => (review?.kind === "answered" ? review.answer.decision : "left"),
      ),
    elicit: (elicitation, signal) =>
      this.#question(
        "elicitation",
        elicitation.server,
        () => next.elicit(elicitation, signal),
        ({ action }) => action,
      ),
  });

  async #question<T>(
    name: string,
    server: string | undefined,
    ask: () => Promise<T>,
    decisionOf: (answer: T) => string,
  ): Promise<T> {
    const begun = performance.now();
    // A question may be asked during a call, or before any call.
    const active = trace.getSpan(context.active()) === undefined ? this.#calling : context.active();
    const attributes = server === undefined ? {} : { "ptc.server.name": server };
    const span = this.#signals.tracer.startSpan(name, { attributes }, active);
    try {
      const answer = await ask();
      span.setAttribute("ptc.decision", decisionOf(answer));
      return answer;
    } finally {
      span.end();
      const ms = performance.now() - begun;
      const waited = active.getValue(WAITED) as Waited | undefined;
      if (waited !== undefined) waited.ms += ms;
      this.#signals.instruments.phase(name, ms);
    }
  }

  end(
    { result, duration_ms: durationMs, approval_state: approval }: Parameters<TracedRun["end"]>[0],
    keptTokens: number,
  ): void {
    const isSuspended = !result.ok && result.error.type === "ApprovalPending";
    const errorType = result.ok || isSuspended ? undefined : result.error.type;
    // A suspended run has calls that are never answered.
    for (const span of this.#open) {
      span.setAttribute("ptc.decision", isSuspended ? "suspended" : "cancelled");
      endSpan(span, isSuspended ? undefined : "cancelled");
    }
    this.#open.clear();
    if (isSuspended) this.#span.setAttribute("ptc.run.suspended", true);
    this.#span.setAttributes({
      "ptc.approval_state": approval,
      "ptc.calls": result.metrics.tool_calls,
      "ptc.result.size": result.metrics.tool_result_bytes,
      "ptc.tokens.kept_out": keptTokens,
    });
    endSpan(this.#span, errorType);
    // It is counted when it has ended.
    if (isSuspended) return;
    const attributes =
      errorType === undefined ? this.#attributes : { ...this.#attributes, "error.type": errorType };
    this.#signals.instruments.run(durationMs, keptTokens, attributes);
  }
}

/** Ends a span, as failed where there is a kind of error. Messages quote servers and programs, so none is reported. */
export function endSpan(span: Span, errorType: string | undefined): void {
  if (errorType !== undefined) {
    span.setAttribute("error.type", errorType);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
