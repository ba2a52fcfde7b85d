/** ptc as an MCP server in memory, for clients of this process. */
import { withTextNumbers } from "../../base/json.ts";
import { linkInMemory, serveOver } from "../../server/mcp/mcp-server.ts";
import { type CallOptions, type Ptc, PtcError } from "../api.ts";
import { OpenPtc } from "../open-ptc.ts";

/**
 * A transport of MCP, as the SDKs have it: an end of a connection that carries messages of JSON-RPC. Any version of the SDKs
 * takes and gives one.
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
  /** The end of a connection for one client: `await client.connect(await server.transport())`. */
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
  if (!(ptc instanceof OpenPtc)) throw new PtcError("invalid", "this is no ptc that createPtc has opened");
  const connections = new Set<{ close(): Promise<void> }>();
  const serve = async (transport: McpTransport, numbers?: typeof withTextNumbers) => {
    const connection = ptc.connect(options);
    const served = await serveOver(ptc.service, transport as never, {
      connection,
      asks: ptc.asks(options),
      numbers,
      onWarning: ptc.warn,
    });
    connections.add(served);
  };
  const server: McpServer = {
    async transport() {
      const [client, own] = linkInMemory();
      // Messages in memory are not written as JSON.
      await serve(own as McpTransport, withTextNumbers);
      return client as McpTransport;
    },
    connect: (transport) => serve(transport),
    async close() {
      await Promise.all([...connections].map((connection) => connection.close()));
      connections.clear();
    },
  };
  return server;
}
