import type { CallBudget } from "./call-budget.ts";
import type { ToolCall } from "./upstream.ts";

/** A connected MCP server, as the dispatcher needs it. */
export interface ToolServer {
  /** Digest of a tool's definition as the server lists it now; `undefined` when it does not list the tool. */
  definitionDigest(tool: string): string | undefined;
  /**
   * Calls a tool and resolves with the MCP result.
   *
   * @throws UpstreamError, also when the call's time has ended.
   */
  call(call: ToolCall): Promise<unknown>;
}

/** For whom a server is connected, and what is known of it already. */
export interface ConnectToolsOptions {
  /** The principal for whom the server is called. */
  principal: string;
  /** The time budget of the call. `connect` limits it to the configured time of that server's calls. */
  budget: CallBudget;
  /**
   * Set after a tool's definition differed from the one that its types were generated from. `connect` then lists the server
   * again if its listing may be out of date, and resolves when the observer has taken that in.
   */
  hasDrifted?: boolean;
}

/** Connects to servers on first use. */
export interface ToolServers {
  /** @throws UpstreamError when the server cannot be reached, or is not ready before the call's time is over. */
  connect(server: string, signal: AbortSignal, options: ConnectToolsOptions): Promise<ToolServer>;
}
