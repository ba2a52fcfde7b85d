import { SSEClientTransport, SseError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { answeredIdOf } from "../../base/streams.ts";
import { inTime } from "../../base/waiting.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import { decodePercent } from "../../secrets/redaction-secrets.ts";
import type { Fetch } from "../../system/outgoing.ts";
import {
  type Authorization,
  AuthorizationError,
  LoginRequiredError,
} from "../authorization/authorization.ts";
import { buildAuthorizedFetch } from "../authorization/authorized-fetch.ts";
import { buildBoundedFetch, type HttpAnswer, noteAnswers } from "./bounded-fetch.ts";
import type { LaunchServer } from "./launch-server.ts";
import type { McpServerTarget } from "./mcp-server-target.ts";
import { type JsonRpcMessage, MessageGate, type RequestId } from "./message-gate.ts";
import { type MessageTransport, type SendOptions, ServerSession } from "./server-session.ts";
import { isUnknownSession, SessionEndedError } from "./session-end.ts";
import { StdioClientTransport, type StdioDiagnosis } from "./stdio-transport.ts";
import type { FaultFacts } from "./upstream-faults.ts";

const END_SESSION_TIMEOUT_MS = 1_000;

/** The connection to a server by one route, for the MCP client. */
export interface Link {
  session: ServerSession;
  /** The last answer of a server over HTTP. */
  lastAnswer?: () => HttpAnswer | undefined;
  /** What is known about a server on stdio besides its messages. */
  diagnosis?: Readonly<StdioDiagnosis>;
  /** Whether a server on stdio has done anything since the last call. */
  isAtWork?: () => Promise<boolean>;
  /** Answers the client's first request in place of a server that is too old for it and stays silent. */
  passQuestion?: () => void;
  /** Ends the session and the process, if there are any. */
  end(): Promise<void>;
}

export interface LinkOptions {
  /** The largest message that is read. A larger answer becomes a fault. */
  maxMessageBytes?: number;
  /** Receive the process group of a server on stdio. */
  onSpawn?: (pid: number) => void;
  onExit?: (pid: number) => void;
  /** Receives it once the server has sent something. */
  onStarted?: (pid: number) => void;
  /** Receives, once, the beginning of the first line on a server's stdout that is no message. */
  onGarbage?: ((first: string) => void) | undefined;
  /** Starts a server on stdio; by default as a process of this machine. */
  launch?: LaunchServer | undefined;
  /** Environment variables for the command of a server on stdio, unless the server or the environment has others. */
  commandDefaults?: Readonly<Record<string, string>> | undefined;
  /** The login at a remote server. */
  authorization?: Authorization | undefined;
}

/** Prepares a connection. Nothing is started or sent before the client starts the transport. */
export function openLink(
  target: McpServerTarget,
  route: Route,
  options: LinkOptions,
  timeoutMs: number,
): Link {
  const maxMessageBytes = options.maxMessageBytes ?? MAX_REPLY_FRAME_BYTES;
  const gate = new MessageGate();
  if (target.transport === "stdio") {
    const { onSpawn, onExit, onStarted, onGarbage } = options;
    const stdio = new StdioClientTransport({
      ...target,
      defaults: options.commandDefaults,
      launch: options.launch,
      maxMessageBytes,
      onSpawn,
      onExit,
      onStarted,
      onGarbage,
      admit: (text) => gate.admit(text),
      onOversize: (line) => session.fail(answeredIdOf(line), { kind: "oversize" }),
    });
    const session = new StdioSession(stdio, gate);
    return {
      session,
      diagnosis: stdio.diagnosis,
      isAtWork: () => stdio.isAtWork(),
      passQuestion: () => session.passQuestion(),
      end: () => stdio.close(),
    };
  }
  const { url, headers } = splitCredentials(target);
  let session: ServerSession | undefined;
  const bounded = buildBoundedFetch({
    maxMessageBytes,
    admit: (text) => gate.admit(text),
    onOversize: (id) => session?.fail(id ?? session.sendingId, { kind: "oversize" }),
  });
  const { authorization } = options;
  const authorized =
    authorization === undefined ? bounded : buildAuthorizedFetch(bounded, url, authorization);
  const { fetch, lastAnswer } = noteAnswers(authorized);
  const requestInit = { headers };
  if (route === "sse") {
    const noting = noteAuthorizationFault(fetch);
    const sse = new SSEClientTransport(url, { fetch: noting.fetch, requestInit });
    const start = sse.start.bind(sse);
    // The client passes on only the text of a fault while the stream is being opened.
    const started = () => start().catch((error: unknown) => Promise.reject(noting.fault() ?? error));
    // A Streamable HTTP endpoint may also open a stream, but never sends the event that names the endpoint.
    sse.start = () => inTime(started(), timeoutMs / 3, () => new Error("no endpoint event came"));
    session = new ServerSession(sse as unknown as MessageTransport, gate);
    endOnStreamError(sse);
    return { session, lastAnswer, end: () => sse.close() };
  }
  const http = new StreamableHTTPClientTransport(url, { fetch, requestInit });
  let hasSession = true;
  const send = http.send.bind(http);
  http.send = async (message, sending) => {
    const { sessionId } = http;
    try {
      await send(message, sending);
    } catch (error) {
      const id = "id" in message ? message.id : undefined;
      if (sessionId === undefined || !isUnknownSession(error, id)) throw error;
      hasSession = false;
      throw new SessionEndedError(error);
    }
  };
  session = new ServerSession(http as unknown as MessageTransport, gate);
  const end = async () => {
    if (hasSession && http.sessionId !== undefined) {
      await inTime(
        http.terminateSession(),
        END_SESSION_TIMEOUT_MS,
        () => new Error("the session did not end"),
      ).catch(() => {});
    }
    await http.close();
  };
  return { session, lastAnswer, end };
}

/** Wraps `fetch` so that the last login fault can be read. */
function noteAuthorizationFault(fetch: Fetch): { fetch: Fetch; fault: () => Error | undefined } {
  let fault: Error | undefined;
  return {
    fetch: async (url, init) => {
      try {
        return await fetch(url, init);
      } catch (error) {
        if (error instanceof LoginRequiredError || error instanceof AuthorizationError) fault = error;
        throw error;
      }
    },
    fault: () => fault,
  };
}

/** By these two members the MCP client recognises a pipe to a local process, for which silence means an old server. */
class StdioSession extends ServerSession {
  readonly stderr = null;
  readonly pid = null;
  #question: RequestId | undefined;

  override send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    if (message.method === "server/discover") this.#question = message.id as RequestId;
    return super.send(message, options);
  }

  passQuestion(): void {
    this.fail(this.#question, { kind: "refused", detail: "did not come" });
  }
}

/** Ends a transport when its stream breaks. Otherwise it would reconnect as a session that was never initialised. */
function endOnStreamError(sse: SSEClientTransport): void {
  const report = sse.onerror;
  sse.onerror = (error) => {
    report?.(error);
    if (error instanceof SseError) void sse.close();
  };
}

/**
 * A target's URL and headers in a form that `fetch` accepts. `fetch` refuses a URL with a user, so user and password become a Basic
 * authentication header (RFC 7617), unless there already is an `authorization` header.
 */
function splitCredentials(target: { url: string; headers: Readonly<Record<string, string>> }): {
  url: URL;
  headers: Headers;
} {
  const url = new URL(target.url);
  const headers = new Headers(target.headers);
  if (url.username !== "" || url.password !== "") {
    const user = `${decodePercent(url.username)}:${decodePercent(url.password)}`;
    if (!headers.has("authorization"))
      headers.set("authorization", `Basic ${Buffer.from(user).toString("base64")}`);
    url.username = "";
    url.password = "";
  }
  return { url, headers };
}

/**
 * A way to connect to a server. The `legacy` routes skip the request for protocol versions, because some older servers do not survive
 * it.
 */
export type Route = "stdio" | "stdio-legacy" | "http" | "http-legacy" | "sse";

/** Whether a route is for servers from before the request for protocol versions existed. */
export function isLegacy(route: Route): boolean {
  return route === "stdio-legacy" || route === "http-legacy" || route === "sse";
}

/** The route to try after a failure of this one; `undefined` if no other is likely to work. */
export function nextRoute(route: Route, { kind, status }: FaultFacts): Route | undefined {
  if (kind === "login" || kind === "token") return undefined;
  const negotiation = kind === "negotiation" || (kind === "http" && (status ?? 0) >= 500);
  switch (route) {
    case "stdio":
      return negotiation || kind === "closed" ? "stdio-legacy" : undefined;
    case "http":
    case "http-legacy":
      if (status === 400 || status === 404 || status === 405) return "sse";
      return route === "http" && negotiation ? "http-legacy" : undefined;
    case "sse":
      return kind === "network" ? undefined : "http";
    default:
      return undefined;
  }
}
