/** A place in a trace, as one process tells another (W3C Trace Context, sections 3.2 and 3.3). */
export interface TraceContext {
  /** `<version>-<trace id>-<span id>-<flags>`. */
  readonly traceparent: string;
  readonly tracestate?: string;
}

const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]{1,64})?$/;

/** Printable ASCII, as HTTP headers have it, and as long as vendors have to be able to pass on (section 3.3.1.5). */
const TRACESTATE = /^[ -~]{1,512}$/;

/**
 * The trace that a request belongs to, by the members `traceparent` and `tracestate` of something that somebody else wrote, such
 * as `_meta` (MCP 2026-07-28, "_meta") or headers; `undefined` where there is none that is valid.
 */
export function parseTraceContext(
  carrier: { traceparent?: unknown; tracestate?: unknown } | undefined,
): TraceContext | undefined {
  const { traceparent, tracestate } = carrier ?? {};
  if (typeof traceparent !== "string" || traceIdOf({ traceparent }) === undefined) return undefined;
  // A state that cannot be read is dropped; the trace continues (section 3.3.1.3).
  return typeof tracestate === "string" && TRACESTATE.test(tracestate)
    ? { traceparent, tracestate }
    : { traceparent };
}

/** The trace that a process was started in (OpenTelemetry specification, "Environment Variables as Context Propagation Carriers"). */
export function traceContextOf({
  TRACEPARENT: traceparent,
  TRACESTATE: tracestate,
}: Readonly<Record<string, string | undefined>>): TraceContext | undefined {
  return parseTraceContext({ traceparent, tracestate });
}

/** The 32 hexadecimal digits that name the trace; `undefined` for what is no valid `traceparent`. */
export function traceIdOf({ traceparent }: Pick<TraceContext, "traceparent">): string | undefined {
  const [, traceId] = TRACEPARENT.exec(traceparent) ?? [];
  // Version 00 ends with the flags.
  return traceparent.startsWith("00") && traceparent.length > 55 ? undefined : traceId;
}
