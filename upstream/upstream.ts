import type { UpstreamError } from "./upstream-error.ts";

/** MCP servers as the rest of ptc sees them. Their listings and answers are passed on unchanged and unparsed. */

/** One server's listing, and the implementation that it reports. */
export interface UpstreamListing {
  implementation: UpstreamImplementation;
  protocolVersion: string;
  /** The unchecked definitions of all pages, and those of server methods that are called like tools. */
  tools: unknown[];
  /** How long all pages are valid according to the server (MCP 2026-07-28, "Caching"); `undefined` if it does not say. */
  ttlMs?: number;
  /** Parts that could not be read, and were left out or replaced by neutral ones. */
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
  /** What is wrong, phrased to follow the tool's name. */
  message: string;
}

/** A server's question during a call. Bounded in size, otherwise unchecked. */
export interface ServerQuestion {
  /** The parameters of `elicitation/create` (MCP 2025-11-25 and 2026-07-28, "Elicitation"), or of `sampling/createMessage`. */
  params: unknown;
  /** Whether it is for the client's model (`sampling/createMessage`), and not for a person. */
  isForModel?: boolean | undefined;
  /** Whether the question certainly belongs to this call. Over stdio, an older server does not say to which call it belongs. */
  isCertain: boolean;
}

/** The outcome of a question. */
export type QuestionAnswer =
  /** The result of the request that is sent to the server. */
  | { kind: "answered"; result: Readonly<Record<string, unknown>> }
  /** The question is not valid. The server is told why. `reason` is phrased to follow the server's name. */
  | { kind: "invalid"; reason: string }
  /** Nobody can be asked. The call is called off. `reason` is phrased to follow the server's name. */
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

/** Asks a person a server's question. `signal` aborts when the answer is no longer wanted. */
export type AskPerson = (question: ServerQuestion, signal: AbortSignal) => Promise<QuestionAnswer>;

/** One call of a tool, as it travels from the broker to the server. */
export interface ToolCall {
  /** The tool's name in the protocol. */
  readonly tool: string;
  readonly arguments: unknown;
  readonly signal: AbortSignal;
  /** Asks a person, whose time does not count. If absent, nobody can be asked. */
  readonly ask?: AskPerson | undefined;
  /** Members of the request's `_meta` besides ptc's own. */
  readonly meta?: RequestMeta | undefined;
  /** Receives the server's reports of progress. */
  readonly onProgress?: OnCallProgress | undefined;
}

/** A call with its limits and the tool's definition. */
export interface UpstreamCall extends ToolCall {
  /** The principal for whom it is made; by default the one of the connection. Principals take turns when calls wait. */
  readonly principal?: string;
  /** The time for the whole call, including starting the server if needed. */
  readonly timeoutMs: number;
  /** The part of that time that has already passed. */
  readonly spentMs?: number;
  /** The tool's definition, if known. It may ask for arguments to be repeated in headers. */
  readonly definition?: unknown;
}

/**
 * Why a listing may be out of date. `announced`: the server said that its tools have changed. `disconnected`: the connection
 * has ended, and the next one may reach another version of the server.
 */
export type ToolsChange = "announced" | "disconnected";

/** What a server says unasked, about what it offers beside tools. Bounded in size, otherwise unchecked. */
export type ServerNotice =
  | { kind: "listed"; lists: readonly ("resources" | "prompts")[] }
  /** A resource has changed that ptc has subscribed to. */
  | { kind: "updated"; uri: string }
  /** A log message: the parameters of `notifications/message` (MCP 2025-11-25, "Logging"). */
  | { kind: "message"; params: Record<string, unknown> };

/** A configured server, which is started on first use. */
export interface Upstream {
  readonly name: string;
  readonly isConnected: boolean;
  /** Whether all principals share it. */
  readonly isShared?: boolean;
  /** Whether its start does not count as a part of a call's time, because it may have to be installed first. */
  readonly startsApart?: boolean;
  /**
   * Starts the server before its first use. The first use reports a failure as if it had waited itself.
   *
   * @throws UpstreamError
   */
  startAhead(): Promise<void>;
  /** @throws UpstreamError */
  list(signal?: AbortSignal): Promise<UpstreamListing>;
  /**
   * The server that a call with these arguments reaches, where it is another than the one that lists the tools; the same object as long
   * as its connection stays.
   */
  reachedBy?(args: unknown): ReachedUpstream | undefined;
  /**
   * Calls a tool once, without retrying. Resolves with the MCP result, which is only checked to be an object.
   *
   * @throws UpstreamError; after `session_ended` the server may be another version, and may be called again.
   */
  call(call: UpstreamCall): Promise<unknown>;
  /** Calls the listener when a listing may be out of date. Returns a function that removes it. */
  onToolsChanged(listener: (change: ToolsChange) => void): () => void;
  /** Makes the next use restart the server. The connection is ended as soon as it is idle. */
  renew(): void;
  /** Ends the connection. The server is started again when it is next used. */
  close(): Promise<void>;
}

/** One account of a server. It lists tools as the whole server would if this were the account that lists them. */
export interface ReachedUpstream extends Upstream {
  readonly account: string;
}

/** One live connection to a server. */
export interface UpstreamConnection {
  /** @throws UpstreamError */
  list(signal?: AbortSignal): Promise<UpstreamListing>;
  /** @throws UpstreamError */
  callTool(call: UpstreamCall): Promise<unknown>;
  onToolsChanged(listener: () => void): void;
  /** Calls the listener with what the server says unasked. If absent, it says nothing. */
  onNotice?(listener: (notice: ServerNotice) => void): void;
  /** Whether something waits for notices, so that the connection is not ended as idle. */
  isFollowed?(): boolean;
  /** Calls the listener once, with the reason, if the connection ends other than by `close`. */
  onLost(listener: (reason: UpstreamError) => void): void;
  /** Credentials that were added after the connection was made; absent if there can be none. */
  secrets?(): readonly string[];
  close(): Promise<void>;
}
