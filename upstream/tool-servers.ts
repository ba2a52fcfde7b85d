import { inTime } from "../base/waiting.ts";
import type { ToolCall } from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

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

/** Who a server is connected for, and what is already known about it. */
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
  /**
   * Starts a server and asks what it lists to a principal, for calls that will probably come. Never rejects: the first of them
   * learns of a failure. Absent where nothing is to be started.
   */
  startAhead?(server: string, principal: string): Promise<void>;
}

/**
 * The time that one call may take: for connecting, listing and answering together. It runs only during `wait`, so the time
 * in which a person is asked does not count.
 */
export class CallBudget {
  #limitMs = Number.POSITIVE_INFINITY;
  #spentMs = 0;

  get limitMs(): number {
    return this.#limitMs;
  }

  /** Sets the time for the whole call. */
  limitTo(limitMs: number): void {
    this.#limitMs = limitMs;
  }

  get spentMs(): number {
    return this.#spentMs;
  }

  /** Waits for work as `inTime` does, for at most the remaining time of the call. */
  async wait<T>(work: Promise<T>, late: () => Error): Promise<T> {
    const began = performance.now();
    try {
      return await inTime(work, this.#limitMs - this.#spentMs, late);
    } finally {
      this.#spentMs += performance.now() - began;
    }
  }
}

/** The error of a call whose time ended before it was sent. Its server still starts and lists, for later calls. */
export function notReadyInTime(
  server: string,
  limitMs: number,
  hasStarted: boolean,
  whySlow?: string,
): UpstreamError {
  const missing = hasStarted ? "it has not listed its tools" : "it has not started";
  return new UpstreamError(
    "connect_timeout",
    `server '${server}' was not sent the call: ${missing} within ${limitMs / 1_000} s, the time limit of a call; it goes on with that${whySlow === undefined ? "" : ` (${whySlow})`}, so a later call may find it ready`,
  );
}
