import type { ServedRequest } from "../../telemetry/telemetry.ts";
import { parseTraceContext, type TraceContext } from "../../telemetry/trace-context.ts";

/** A request of the client's, as the MCP server hands it to its handlers. */
interface ReceivedRequest {
  mcpReq: { id: string | number; _meta?: Readonly<Record<string, unknown>> | undefined };
  http?: { req?: { headers: { get(name: string): string | null } } | undefined } | undefined;
}

const TOOL_NAMES: ReadonlySet<string> = new Set([
  "execute_program",
  "search_tools",
  "inspect_tool",
  "list_callable_tools",
  "read_output",
]);

/** What is told of a call of one of ptc's tools. A name that is not ptc's own could be anything, and is not told. */
export function requestFacts(
  name: string,
  request: ReceivedRequest,
  session: string | undefined,
): ServedRequest {
  const tool = TOOL_NAMES.has(name) ? name : name.startsWith("mcp__") ? "direct" : "unknown";
  return { tool, requestId: request.mcpReq.id, session, parent: traceOf(request) };
}

/** The trace that a request belongs to: its own `_meta` says it, whatever carries it, else the HTTP request that it came with. */
export function traceOf({ mcpReq, http }: ReceivedRequest): TraceContext | undefined {
  const { traceparent, tracestate } = mcpReq._meta ?? {};
  const own = parseTraceContext({ traceparent, tracestate });
  if (own !== undefined || http?.req === undefined) return own;
  const { headers } = http.req;
  return parseTraceContext({
    traceparent: headers.get("traceparent"),
    tracestate: headers.get("tracestate"),
  });
}

/** Whether a reply tells of a failure. */
export function isErrorReply(reply: object): boolean {
  return "isError" in reply && reply.isError === true;
}
