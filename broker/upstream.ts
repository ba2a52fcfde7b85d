import type { UpstreamError } from "./upstream-error.ts";

/** MCP servers as the rest of ptc sees them: what they list and what they answer is passed on as it came, unparsed. */

export interface UpstreamListing {
  implementation: UpstreamImplementation;
  protocolVersion: string;
  /** The definitions of all pages as the server sent them: unchecked, and all of them. */
  tools: unknown[];
}

interface UpstreamImplementation {
  name: string;
  version: string;
}

export interface UpstreamCallOptions {
  /** How long the server may take to answer, from when it is connected. */
  timeoutMs: number;
  signal: AbortSignal;
  /** The tool's definition where it is known: some servers want arguments repeated in headers that it declares. */
  definition?: unknown;
}

/**
 * Why what a server listed may no longer be so: it says that its tools have changed, or the connection has ended and the
 * next one may meet another version of it.
 */
export type ToolsChange = "announced" | "disconnected";

/** A configured server, connected or not: it is started when it is first used. */
export interface Upstream {
  readonly name: string;
  /** @throws UpstreamError */
  list(signal?: AbortSignal): Promise<UpstreamListing>;
  /**
   * Calls a tool once, and never again by itself. Resolves with the MCP result, an object of which no more is checked.
   *
   * @throws UpstreamError
   */
  call(tool: string, args: unknown, options: UpstreamCallOptions): Promise<unknown>;
  /** The listener is told when what was listed may no longer be so. Returns a function that removes it. */
  onToolsChanged(listener: (change: ToolsChange) => void): () => void;
  /** Has its next use start the server anew. The connection is ended as soon as nothing is under way on it. */
  renew(): void;
  /** Ends the connection. The server is started again when it is next used. */
  close(): Promise<void>;
}

/** One live connection to a server. */
export interface UpstreamConnection {
  readonly implementation: UpstreamImplementation;
  readonly protocolVersion: string;
  /** @throws UpstreamError */
  listTools(signal?: AbortSignal): Promise<unknown[]>;
  /** @throws UpstreamError */
  callTool(tool: string, args: unknown, options: UpstreamCallOptions): Promise<unknown>;
  onToolsChanged(listener: () => void): void;
  /** The listener gets the reason once, when the connection has ended other than by `close`. */
  onLost(listener: (reason: UpstreamError) => void): void;
  close(): Promise<void>;
}
