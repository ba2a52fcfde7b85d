/** ptc as an MCP server in memory, for clients of this process. */
import type { CallOptions, Ptc } from "../api.ts";
import { inMemoryServer } from "./in-memory-server.ts";

/**
 * A transport of MCP, as the SDKs define it: one end of a connection that carries JSON-RPC messages. Every version of the SDKs
 * accepts and provides one.
 */
export interface McpTransport {
  start(): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: each version of the SDKs has its own type of messages.
  send(message: any, options?: any): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  onmessage?: ((message: any, extra?: any) => void) | undefined;
}

/** An MCP server in memory. */
export interface McpServer {
  /** The client's end of a new connection: `await client.connect(await server.transport())`. */
  transport(): Promise<McpTransport>;
  /** Serves one client at the other end of a transport, which is started. */
  connect(transport: McpTransport): Promise<void>;
  /** Ends all connections, and cancels their programs. */
  close(): Promise<void>;
}

/**
 * ptc as an MCP server in this process, in either era of the protocol. Each connection is a conversation. Questions go to `approve`
 * and `onElicit` where there is one of them, else to a client that can show them.
 *
 * @param options for whom, and who is asked. What is left out is as `createPtc` was given it.
 * @throws PtcError for what `createPtc` has not opened.
 */
export function mcpServer(
  ptc: Ptc,
  options: Pick<CallOptions, "principal" | "approve" | "onElicit"> = {},
): McpServer {
  return inMemoryServer(ptc, options) as McpServer;
}
