/** A connected MCP server, as the dispatcher needs it. */
export interface ToolServer {
  /** Digest of a tool's definition as the server lists it now; `undefined` when it does not. */
  definitionDigest(tool: string): string | undefined;
  /**
   * Calls a tool and resolves with the MCP result.
   *
   * @throws UpstreamError also when the server's own time limit for a call passes.
   */
  call(tool: string, args: unknown, signal: AbortSignal): Promise<unknown>;
}

export interface ConnectToolsOptions {
  /**
   * A definition is not the one that programs were made for. What the server lists is asked again where that may be out
   * of date, and has been passed on to whoever makes programs' types from it when `connect` resolves.
   */
  hasDrifted?: boolean;
}

/** Connects to servers on first use. */
export interface ToolServers {
  /** @throws UpstreamError when the server cannot be reached. */
  connect(server: string, signal: AbortSignal, options?: ConnectToolsOptions): Promise<ToolServer>;
}
