import type { UpstreamConnection, UpstreamListing } from "../upstream.ts";
import type { ToolProblem } from "./listing-page.ts";

/** What a connected server lists and is. Of the times for which its pages hold, the shortest counts. @throws UpstreamError */
export async function listConnection(
  connection: UpstreamConnection,
  signal: AbortSignal | undefined,
): Promise<UpstreamListing> {
  const { implementation, protocolVersion } = connection;
  const problems: ToolProblem[] = [];
  const ttls: number[] = [];
  const tools = await connection.listTools(
    signal,
    (problem) => problems.push(problem),
    (ttlMs) => ttls.push(ttlMs),
  );
  return {
    implementation,
    protocolVersion,
    tools,
    ...(ttls.length > 0 ? { ttlMs: Math.min(...ttls) } : {}),
    ...(problems.length > 0 ? { problems } : {}),
  };
}
