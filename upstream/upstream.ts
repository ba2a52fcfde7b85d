import type { UpstreamError } from "./upstream-error.ts";

/** MCP servers as the rest of ptc sees them. What they list and answer is passed on unchanged and unparsed. */

/** What one server listed, and what it says it is. */
export interface UpstreamListing {
  implementation: UpstreamImplementation;
  protocolVersion: string;
  /** The definitions of all pages, unchecked, and those of the server's methods that are called like tools. */
  tools: unknown[];
  /** For how long all pages hold, as the server says (MCP 2026-07-28, "Caching"); `undefined` when it does not say. */
  ttlMs?: number;
  /** The parts that could not be read, and were left out or replaced by neutral ones. */
  problems?: readonly ToolProblem[];
}

export interface UpstreamImplementation {
  name: string;
  version: string;
}

/** A part of a listing that could not be read. */
export interface ToolProblem {
  /** The tool's protocol name, if known. */
  tool?: string;
  /** What is wrong, in words that follow the tool's name. */
  message: string;
}

/** A server's question in the middle of a call. Bounded in size, otherwise unchecked. */
export interface ServerQuestion {
  /** The parameters of `elicitation/create` (MCP 2025-11-25 and 2026-07-28, "Elicitation"). */
  params: unknown;
  /** Whether the question belongs to this call for certain. Over stdio, an older server does not say which call it asks for. */
  isCertain: boolean;
}

/** The outcome of a question. */
export type QuestionAnswer =
  /** The result of `elicitation/create`, as it is sent to the server. */
  | { kind: "answered"; result: Readonly<Record<string, unknown>> }
  /** The question cannot be put to anybody. The server learns why. `reason` follows the server's name. */
  | { kind: "invalid"; reason: string }
  /** Nobody can be asked. The call is called off. `reason` follows the server's name. */
  | { kind: "unasked"; reason: string };

/** Members of the `_meta` of a request (MCP 2025-11-25, "_meta"), such as `traceparent`. */
export type RequestMeta = Readonly<Record<string, string>>;

/** A server's report of a call's progress (MCP 2025-11-25, "Progress"), unchecked. */
export interface ProgressReport {
  progress: number;
  total?: number;
  message?: string;
}

export type OnCallProgress = (report: ProgressReport) => void;

/** Puts a question of a server to a person. `signal` aborts when the answer is no longer wanted. */
export type AskPerson = (question: ServerQuestion, signal: AbortSignal) => Promise<QuestionAnswer>;

/** One call of a tool, as it travels from the broker to the server. */
export interface ToolCall {
  /** The tool's name in the protocol. */
  readonly tool: string;
  readonly arguments: unknown;
  readonly signal: AbortSignal;
  /** Asks a person; the time that they take does not count. If absent, nobody can be asked. */
  readonly ask?: AskPerson | undefined;
  /** Members of the request's `_meta` besides ptc's own. */
  readonly meta?: RequestMeta | undefined;
  /** Receives the server's reports of progress. */
  readonly onProgress?: OnCallProgress | undefined;
}

/** A call with its limits, and with what its server lists of the tool. */
export interface UpstreamCall extends ToolCall {
  /** For whom it is made; by default for the one whose connection it is. Calls of a server wait by turns. */
  readonly principal?: string;
  /** The time for the whole call, including starting the server if needed. */
  readonly timeoutMs: number;
  /** How much of that time has already passed. */
  readonly spentMs?: number;
  /** The tool's definition, if known. It may ask for arguments to be repeated in headers. */
  readonly definition?: unknown;
}

/**
 * Why a listing may be out of date. `announced`: the server said that its tools have changed. `disconnected`: the connection
 * has ended, and the next one may reach another version of the server.
 */
export type ToolsChange = "announced" | "disconnected";

/** A configured server, which is started on first use. */
export interface Upstream {
  readonly name: string;
  readonly isConnected: boolean;
  /** Whether all principals share it. */
  readonly isShared?: boolean;
  /**
   * Starts the server before its first use, which learns of a failure as if it had waited itself.
   *
   * @throws UpstreamError
   */
  startAhead(): Promise<void>;
  /** @throws UpstreamError */
  list(signal?: AbortSignal): Promise<UpstreamListing>;
  /**
   * Calls a tool once and does not retry. Resolves with the MCP result, which is checked only to be an object.
   *
   * @throws UpstreamError
   */
  call(call: UpstreamCall): Promise<unknown>;
  /** Calls the listener when a listing may be out of date. Returns a function that removes it. */
  onToolsChanged(listener: (change: ToolsChange) => void): () => void;
  /** Makes the next use restart the server. The connection is ended as soon as it is idle. */
  renew(): void;
  /** Ends the connection. The server is started again when it is next used. */
  close(): Promise<void>;
}

/** One live connection to a server. */
export interface UpstreamConnection {
  /** @throws UpstreamError */
  list(signal?: AbortSignal): Promise<UpstreamListing>;
  /** @throws UpstreamError */
  callTool(call: UpstreamCall): Promise<unknown>;
  onToolsChanged(listener: () => void): void;
  /** Calls the listener once, with the reason, when the connection has ended other than by `close`. */
  onLost(listener: (reason: UpstreamError) => void): void;
  /** The credentials that came since the connection was made; absent where none can come. */
  secrets?(): readonly string[];
  close(): Promise<void>;
}
