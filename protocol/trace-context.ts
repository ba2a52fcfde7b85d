/** A place in a trace, in the form that one process passes to another (W3C Trace Context, sections 3.2 and 3.3). */
export interface TraceContext {
  /** `<version>-<trace id>-<span id>-<flags>`. */
  readonly traceparent: string;
  readonly tracestate?: string;
}

const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]{1,64})?$/;

/** Printable ASCII, as in HTTP headers, of the length that every vendor must be able to propagate (section 3.3.1.5). */
const TRACESTATE = /^[ -~]{1,512}$/;

/**
 * Reads the trace of a request from the members `traceparent` and `tracestate` of foreign data, such as `_meta` (MCP 2026-07-28,
 * "_meta") or headers. Returns `undefined` if there is no valid one.
 */
export function parseTraceContext(
  carrier: { traceparent?: unknown; tracestate?: unknown } | undefined,
): TraceContext | undefined {
  const { traceparent, tracestate } = carrier ?? {};
  if (typeof traceparent !== "string" || traceIdOf({ traceparent }) === undefined) return undefined;
  // An invalid state is dropped, and the trace continues (section 3.3.1.3).
  return typeof tracestate === "string" && TRACESTATE.test(tracestate)
    ? { traceparent, tracestate }
    : { traceparent };
}

/** Reads the trace that started a process (OpenTelemetry specification, "Environment Variables as Context Propagation Carriers"). */
export function traceContextOf({
  TRACEPARENT: traceparent,
  TRACESTATE: tracestate,
}: Readonly<Record<string, string | undefined>>): TraceContext | undefined {
  return parseTraceContext({ traceparent, tracestate });
}

/** Returns the 32 hexadecimal digits that identify the trace, or `undefined` for an invalid `traceparent`. */
export function traceIdOf({ traceparent }: Pick<TraceContext, "traceparent">): string | undefined {
  const [, traceId] = TRACEPARENT.exec(traceparent) ?? [];
  // Version 00 ends with the flags.
  return traceparent.startsWith("00") && traceparent.length > 55 ? undefined : traceId;
}
