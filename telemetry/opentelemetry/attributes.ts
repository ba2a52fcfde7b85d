import type { Attributes } from "@opentelemetry/api";
import type { CallOutcome } from "../../broker/dispatcher.ts";
import type { CalledTool } from "../telemetry.ts";

/**
 * Names and attributes as the semantic conventions for MCP and for generative AI have them (OpenTelemetry semantic conventions,
 * "Model Context Protocol", "Execute tool span"), and ptc's own, which begin with `ptc.`. Each value is from a closed set, from
 * the configuration, or from what servers list. Arguments, results and messages are in none, although the conventions would let
 * them be.
 */

const TOOL_CALL = "tools/call";

/** What a call of a name that is no tool's is called. A program could put anything into such a name. */
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

/** The span of a request of the client's to one of ptc's own tools. */
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
 * Why a call failed: what was decided about it, what went wrong between ptc and the server, or that the server answered with an
 * error; `undefined` where it did not.
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
