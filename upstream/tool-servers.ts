import { inTime } from "../base/waiting.ts";
import type { ToolCall } from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

/** A connected MCP server, as the dispatcher needs it. */
export interface ToolServer {
  /** The digest of a tool's definition as the server lists it now; `undefined` if it does not list the tool. */
  definitionDigest(tool: string): string | undefined;
  /** The account that the call would reach, if what is behind it lists another definition of the tool, or none. */
  strangeAccount?(tool: string): string | undefined;
  /**
   * Calls a tool and resolves with the MCP result.
   *
   * @throws UpstreamError, also if the call's time has run out.
   */
  call(call: ToolCall): Promise<unknown>;
}

/** For whom a server is connected, and what is already known. */
export interface ConnectToolsOptions {
  /** The principal for whom the server is called. */
  principal: string;
  /** The time budget of the call. `connect` limits it to the configured time of that server's calls. */
  budget: CallBudget;
  /** The tool's name in the protocol and the arguments of the call, which may say which account it reaches. */
  call?: Pick<ToolCall, "tool" | "arguments">;
  /**
   * Set after a tool's definition differed from the one from which its types were generated. `connect` then lists the server again if
   * its listing may be out of date, and resolves when the observer has processed that.
   */
  hasDrifted?: boolean;
}

/** Connects to servers on first use. */
export interface ToolServers {
  /** @throws UpstreamError if the server cannot be reached, or is not ready before the call's time runs out. */
  connect(server: string, signal: AbortSignal, options: ConnectToolsOptions): Promise<ToolServer>;
  /**
   * Starts a server and lists it for a principal, for calls that will probably follow. Never rejects: the first of them reports a
   * failure. Absent if there is nothing to start.
   */
  startAhead?(server: string, principal: string): Promise<void>;
}

/**
 * The time limit of one call, for connecting, listing and answering together. It runs only during `wait`, so the time in which a
 * person is asked does not count.
 */
export class CallBudget {
  #limitMs = Number.POSITIVE_INFINITY;
  #spentMs = 0;

  get limitMs(): number {
    return this.#limitMs;
  }

  /** Sets the time limit of the whole call. */
  limitTo(limitMs: number): void {
    this.#limitMs = limitMs;
  }

  get spentMs(): number {
    return this.#spentMs;
  }

  /** Waits for work like `inTime`, for at most the remaining time of the call. */
  async wait<T>(work: Promise<T>, late: () => Error): Promise<T> {
    const began = performance.now();
    try {
      return await inTime(work, this.#limitMs - this.#spentMs, late);
    } finally {
      this.#spentMs += performance.now() - began;
    }
  }
}

/** The error of a call whose time ran out before it was sent. Its server continues to start and list, for later calls. */
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
