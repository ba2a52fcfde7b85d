import { Redactor } from "../secrets/redaction.ts";
import type { OnCallProgress, UpstreamConnection } from "./upstream.ts";

/**
 * Wraps a connection so that no program is shown the credentials with which ptc uses the server, should it put them into an
 * answer. Nothing else of an answer is touched: secrets that are the server's data are what programs are written for.
 *
 * @param known the credentials that the connection was made with.
 * @param current those that have come since, such as a renewed token; without it, those that the connection knows of.
 */
export function maskCredentials(
  connection: UpstreamConnection,
  known: readonly string[],
  current: (() => readonly string[]) | undefined = connection.secrets?.bind(connection),
): UpstreamConnection {
  if (known.length === 0 && current === undefined) return connection;
  const own = new Redactor([], known, false);
  const told = new Set(known);
  const learn = () => {
    for (const secret of current?.() ?? []) {
      if (told.has(secret)) continue;
      told.add(secret);
      own.add(secret);
    }
  };
  /** Reports of progress are answers too. */
  const masking = (onProgress: OnCallProgress): OnCallProgress => {
    return (report) => {
      learn();
      onProgress(own.redactValue(report).value as typeof report);
    };
  };
  return {
    implementation: connection.implementation,
    protocolVersion: connection.protocolVersion,
    listTools: (signal, onProblem, onTtl) => connection.listTools(signal, onProblem, onTtl),
    callTool: async (tool, args, options) => {
      const { onProgress } = options;
      const masked = onProgress === undefined ? options : { ...options, onProgress: masking(onProgress) };
      const answer = await connection.callTool(tool, args, masked);
      learn();
      return own.redactValue(answer).value;
    },
    onToolsChanged: (listener) => connection.onToolsChanged(listener),
    onLost: (listener) => connection.onLost(listener),
    close: () => connection.close(),
  };
}
