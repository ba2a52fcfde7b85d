import type { Redactor } from "../secrets/redaction.ts";
import type { UpstreamConnection } from "./upstream.ts";

/**
 * Wraps a connection so that listings hold no secrets. Definitions are shown to models and written to shared files, and a
 * server may quote its configuration in them. Results of calls are left to mask-credentials.ts, because programs work with them.
 */
export function redactListing(
  connection: UpstreamConnection,
  redactor: Pick<Redactor, "redactValue">,
): UpstreamConnection {
  return {
    implementation: connection.implementation,
    protocolVersion: connection.protocolVersion,
    listTools: async (signal, onProblem, onTtl) =>
      redactor.redactValue(await connection.listTools(signal, onProblem, onTtl)).value as unknown[],
    callTool: (tool, args, options) => connection.callTool(tool, args, options),
    onToolsChanged: (listener) => connection.onToolsChanged(listener),
    onLost: (listener) => connection.onLost(listener),
    close: () => connection.close(),
  };
}
