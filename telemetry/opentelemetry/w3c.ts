import {
  type Context,
  createTraceState,
  type Link,
  ROOT_CONTEXT,
  type Span,
  trace,
} from "@opentelemetry/api";
import { parseTraceParent } from "@opentelemetry/core";
import type { TraceContext } from "../../protocol/trace-context.ts";

/** A context whose spans are children of a span in an external trace. */
export function contextOf(parent: TraceContext | undefined): Context {
  const place = parent === undefined ? null : parseTraceParent(parent.traceparent);
  if (place === null) return ROOT_CONTEXT;
  const { tracestate } = parent ?? {};
  const state = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) };
  return trace.setSpanContext(ROOT_CONTEXT, { ...place, ...state, isRemote: true });
}

/** A link to a span in a trace that is not the parent. */
export function linksTo(place: TraceContext | undefined): Link[] {
  const linked = trace.getSpanContext(contextOf(place));
  return linked === undefined ? [] : [{ context: linked }];
}

/** The members of `_meta` that make a span the parent of the receiver's work. */
export function metaOf(span: Span): Readonly<Record<string, string>> | undefined {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  if (/^0+$/.test(traceId)) return undefined;
  const flags = (traceFlags & 0xff).toString(16).padStart(2, "0");
  const tracestate = traceState?.serialize() ?? "";
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(tracestate === "" ? {} : { tracestate }) };
}
