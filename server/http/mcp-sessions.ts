/**
 * Sessions of MCP 2025-11-25 over HTTP ("Session Management"). A session is its caller's: to anybody else it is as unknown as one that
 * there never was. A client that loses a stream takes it up where it was ("Resumability and Redelivery").
 */
import { randomUUID } from "node:crypto";
import {
  type EventStore,
  isInitializeRequest,
  type JSONRPCMessage,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Caller } from "../../identity/caller.ts";
import { type Asker, buildServer } from "../mcp/mcp-server.ts";
import type { McpConnection, McpService } from "../mcp/service.ts";

const MAX_BODY_BYTES = 8 * 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;
/** How long a session is kept in which nothing happens. */
const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 10_000;
const MAX_SESSIONS_OF_ONE = 100;
/** How soon a client comes back whose stream has ended before its answer. */
const RETRY_MS = 1_000;

interface Session {
  readonly principal: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly connection: McpConnection;
  requests: number;
  usedAt: number;
}

interface Given {
  authInfo: { token: string; clientId: string; scopes: string[]; extra: Record<string, unknown> };
  /** The message in the request, where it holds any. */
  parsedBody?: unknown;
}

export class McpSessions {
  readonly #service: McpService;
  readonly #options: {
    onWarning: (message: string) => void;
    asker: (context: ServerContext) => Asker;
  };
  /** The least recently used first. */
  readonly #byId = new Map<string, Session>();

  constructor(
    service: McpService,
    options: { onWarning: (message: string) => void; asker: (context: ServerContext) => Asker },
  ) {
    this.#service = service;
    this.#options = options;
  }

  async fetch(request: Request, caller: Caller, ended: Promise<void>, given: Given): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#begin(request, caller, ended, given);
    const session = this.#byId.get(id);
    if (session === undefined || session.principal !== caller.context.principal) return notFound();
    session.connection.renew(caller.context);
    return this.#within(session, id, request, ended, given);
  }

  /** Ends the sessions in which nothing has happened for long. */
  sweep(): void {
    const oldest = performance.now() - IDLE_MS;
    for (const [id, { requests, usedAt }] of [...this.#byId])
      if (requests === 0 && usedAt < oldest) void this.#end(id);
  }

  closeStreams(): void {
    for (const { transport } of this.#byId.values()) transport.closeStandaloneSSEStream();
  }

  /** Cancels the programs of all sessions. Resolves when they have ended. */
  async cancel(): Promise<void> {
    await Promise.all([...this.#byId.values()].map(({ connection }) => connection.close()));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byId.keys()].map((id) => this.#end(id)));
  }

  async #within(
    session: Session,
    id: string,
    request: Request,
    ended: Promise<void>,
    given: Given,
  ): Promise<Response> {
    session.requests++;
    void ended.then(() => {
      session.requests--;
      session.usedAt = performance.now();
    });
    this.#byId.delete(id);
    this.#byId.set(id, session);
    return session.transport.handleRequest(request, given);
  }

  /** Begins a session with the request that initializes it. Any other request without a session is answered as the SDK does. */
  async #begin(request: Request, caller: Caller, ended: Promise<void>, given: Given): Promise<Response> {
    if (!isInitializeRequest(given.parsedBody))
      return new WebStandardStreamableHTTPServerTransport(NO_SESSION).handleRequest(request, given);
    this.#makeRoom(caller.context.principal);
    const { context } = caller;
    const connection = this.#service.connect({ ...context, session: randomUUID() });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new RecentEvents(),
      retryInterval: RETRY_MS,
      keepAliveMs: KEEP_ALIVE_MS,
      maxRequestBodySize: MAX_BODY_BYTES,
      onsessioninitialized: (id) => {
        this.#byId.set(id, session);
      },
      onsessionclosed: (id) => this.#end(id),
    });
    const session: Session = {
      ...{ principal: context.principal, transport, connection },
      ...{ requests: 0, usedAt: performance.now() },
    };
    const instructions = await connection.instructions();
    const server = buildServer(this.#service, connection, instructions, "legacy", this.#options);
    server.onerror = (error) => this.#options.onWarning(error.message);
    connection.onToolsChanged = () => void server.sendToolListChanged().catch(() => {});
    await server.connect(transport);
    const response = await transport.handleRequest(request, given);
    if (transport.sessionId === undefined) await connection.close();
    else
      void ended.then(() => {
        session.usedAt = performance.now();
      });
    return response;
  }

  /** Ends the sessions that were not used for longest, where there are too many. */
  #makeRoom(principal: string): void {
    const idle = [...this.#byId].filter(([, { requests }]) => requests === 0);
    const own = [...this.#byId.values()].filter((session) => session.principal === principal).length;
    const [first] =
      own >= MAX_SESSIONS_OF_ONE ? idle.filter(([, each]) => each.principal === principal) : idle;
    if (first !== undefined && (own >= MAX_SESSIONS_OF_ONE || this.#byId.size >= MAX_SESSIONS))
      void this.#end(first[0]);
  }

  async #end(id: string): Promise<void> {
    const session = this.#byId.get(id);
    if (session === undefined) return;
    this.#byId.delete(id);
    await session.connection.close();
    await session.transport.close();
  }
}

const NO_SESSION = { sessionIdGenerator: randomUUID, maxRequestBodySize: MAX_BODY_BYTES };

function notFound(): Response {
  const error = { code: -32_001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}

/** How much of its streams a session remembers, for a client that comes back. */
const MAX_EVENTS = 1_000;
const MAX_EVENT_CHARS = 4 * 1024 * 1024;

/** The latest events of the streams of one session. What was dropped cannot be sent again. */
class RecentEvents implements EventStore {
  /** Oldest first. */
  readonly #events = new Map<string, { stream: string; message: JSONRPCMessage; chars: number }>();
  #chars = 0;
  #count = 0;

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = `${stream}.${++this.#count}`;
    const chars = JSON.stringify(message).length;
    this.#events.set(id, { stream, message, chars });
    this.#chars += chars;
    for (const [oldest, event] of this.#events) {
      if (oldest === id || (this.#events.size <= MAX_EVENTS && this.#chars <= MAX_EVENT_CHARS)) break;
      this.#events.delete(oldest);
      this.#chars -= event.chars;
    }
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.get(id)?.stream;
  }

  async replayEventsAfter(
    last: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const from = this.#events.get(last);
    if (from === undefined) throw new Error("the event is not remembered");
    let isAfter = false;
    for (const [id, { stream, message }] of [...this.#events]) {
      if (isAfter && stream === from.stream && Object.keys(message).length > 0) await send(id, message);
      isAfter ||= id === last;
    }
    return from.stream;
  }
}
