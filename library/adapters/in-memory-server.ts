import { withTextNumbers } from "../../base/json.ts";
import { linkInMemory, serveOver } from "../../server/mcp/mcp-server.ts";
import { type CallOptions, type Ptc, PtcError } from "../api.ts";
import { OpenPtc } from "../open-ptc.ts";

type Transport = ReturnType<typeof linkInMemory>[0];

/** An MCP server in memory, by the SDK's own transports. */
export interface InMemoryServer {
  /** The client's end of a new connection. */
  transport(): Promise<Transport>;
  /** Serves one client at the other end of a transport, which it starts. */
  connect(transport: Transport): Promise<void>;
  /** Ends all connections, and cancels their programs. */
  close(): Promise<void>;
}

/**
 * Serves ptc in this process.
 *
 * @param present the reply that a client reads instead of ptc's own.
 * @throws PtcError for what `createPtc` has not opened.
 */
export function inMemoryServer(
  ptc: Ptc,
  options: Pick<CallOptions, "principal" | "approve" | "onElicit">,
  present?: Parameters<typeof serveOver>[2]["present"],
): InMemoryServer {
  if (!(ptc instanceof OpenPtc)) throw new PtcError("invalid", "this is not a ptc that createPtc has opened");
  const connections = new Set<{ close(): Promise<void> }>();
  const serve = async (transport: Transport, numbers?: typeof withTextNumbers) => {
    const connection = ptc.connect(options);
    const served = await serveOver(ptc.service, transport, {
      connection,
      asks: ptc.asks(options),
      present,
      numbers,
      onWarning: ptc.warn,
    });
    connections.add(served);
  };
  const server: InMemoryServer = {
    async transport() {
      const [client, own] = linkInMemory();
      // Messages in memory are not written as JSON.
      await serve(own, withTextNumbers);
      return client;
    },
    connect: (transport) => serve(transport),
    async close() {
      await Promise.all([...connections].map((connection) => connection.close()));
      connections.clear();
    },
  };
  return server;
}
