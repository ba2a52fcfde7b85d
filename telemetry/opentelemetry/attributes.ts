import type { Attributes } from "@opentelemetry/api";
import type { CallOutcome } from "../../broker/dispatcher.ts";
import type { CalledTool } from "../telemetry.ts";

/**
 * Names and attributes from the semantic conventions for MCP and for generative AI (OpenTelemetry semantic conventions, "Model
 * Context Protocol", "Execute tool span"), and ptc's own, which begin with `ptc.`. Each value comes from a closed set, from the
 * configuration, or from the lists of servers. None contains arguments, results or messages, although the conventions would
 * allow that.
 */

const TOOL_CALL = "tools/call";

/** Stands for any unknown tool. A program could put anything into the name that it calls. */
const UNKNOWN_TOOL: CalledTool = { server: "unknown", name: "unknown" };

/** The span of a call to a server. */
export function nameCall(known: CalledTool | undefined): { name: string; attributes: Attributes } {
  const { server, name, method, host } = known ?? UNKNOWN_TOOL;
  const transport = host === undefined ? "pipe" : "tcp";
  return {
    name: method ?? `${TOOL_CALL} ${name}`,
    attributes: {
      ...ofMethod(method, name),
      "ptc.server.name": server,
      ...(known === undefined ? {} : { "network.transport": transport }),
      ...(host === undefined ? {} : { "server.address": host.address, "server.port": host.port }),
    },
  };
}

/** The span of a client's request to one of ptc's own tools. */
export function nameRequest(tool: string): { name: string; attributes: Attributes } {
  return {
    name: `${TOOL_CALL} ${tool}`,
    attributes: { ...ofMethod(undefined, tool), "network.transport": "pipe" },
  };
}

function ofMethod(method: string | undefined, tool: string): Attributes {
  if (method !== undefined) return { "mcp.method.name": method };
  return {
    "mcp.method.name": TOOL_CALL,
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool,
  };
}

/**
 * Why a call failed: the decision about it, a problem between ptc and the server, or an error as the server's answer; `undefined`
 * if it did not fail.
 */
export function errorTypeOf(outcome: CallOutcome): string | undefined {
  if (outcome.ok) return undefined;
  const { decision, raw, upstream } = outcome;
  if (decision !== "allowed" && decision !== "approved-once" && decision !== "approved-for-run")
    return decision;
  return raw === undefined ? (upstream ?? "_OTHER") : "tool_error";
}

/** Whether a call was sent to its server. */
export function isSent({ decision }: CallOutcome): boolean {
  return decision === "allowed" || decision === "approved-once" || decision === "approved-for-run";
}
