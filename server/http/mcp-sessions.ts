/**
 * Sessions of MCP 2025-11-25 over HTTP ("Session Management"). A session belongs to its caller. To anybody else it looks like one that
 * never existed. A client that loses a stream resumes it where it was ("Resumability and Redelivery").
 *
 * Where processes share a storage, the id of a session holds what `initialize` brought, sealed for its caller. A process that does not
 * know a session opens it from its id, and so any of them answers any request. What they have to know of each other is shared:
 * that a session was ended, what its model was shown (`shared-conversations.ts`), and what a client sends to one process that concerns another (`session-transport.ts`).
 */

import { randomUUID } from "node:crypto";
import {
  type EventStore,
  type InitializeRequest,
  isInitializeRequest,
  type JSONRPCMessage,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { ArchiveError } from "../../archive/archive-error.ts";
import type { SharedFacts } from "../../archive/shared-facts.ts";
import { writeJson } from "../../base/json.ts";
import type { Caller } from "../../identity/caller.ts";
import { callerKey } from "../../protocol/run-context.ts";
import { canSample, canShowForm, canShowUrl, claimOf } from "../mcp/elicitation.ts";
import { type Asker, buildServer, type StateSealer } from "../mcp/mcp-server.ts";
import type { McpConnection, McpService } from "../mcp/service.ts";
import { nameOfConversation, SESSION_MS } from "../mcp/shared-conversations.ts";
import { Elsewhere, SessionTransport } from "./session-transport.ts";

const MAX_BODY_BYTES = 8 * 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;
/** How long a session is kept in which nothing happens. */
const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 10_000;
const MAX_SESSIONS_OF_ONE = 100;
/** How soon a client reconnects when its stream has ended before the answer. */
const RETRY_MS = 1_000;

interface Session {
  readonly principal: string;
  /** Whose it is alone (`callerKey`). */
  readonly caller: string;
  readonly transport: SessionTransport;
  readonly connection: McpConnection;
  readonly events: RecentEvents;
  /** Open requests, and those among them that are no stream of news, which a client keeps open for as long as it likes. */
  requests: number;
  calls: number;
  usedAt: number;
}

interface Given {
  authInfo: { token: string; clientId: string; scopes: string[]; extra: Record<string, unknown> };
  /** The message in the request, where it holds any. */
  parsedBody?: unknown;
}

interface McpSessionsOptions {
  onWarning: (message: string) => void;
  asker: (context: ServerContext) => Asker;
  /** Seals sessions for processes that share facts, for `SESSION_MS`. */
  sessionSealer?: StateSealer | undefined;
}

export class McpSessions {
  readonly #service: McpService;
  readonly #options: McpSessionsOptions;
  /** With what sessions are shared; `undefined` where each is in one process alone. */
  readonly #shared: { facts: SharedFacts; sealer: StateSealer } | undefined;
  /** The least recently used first. */
  readonly #byId = new Map<string, Session>();
  readonly #opening = new Map<string, Promise<Session | "full" | undefined>>();
  /** How many sessions of each principal are being made. */
  readonly #making = new Map<string, number>();

  constructor(service: McpService, options: McpSessionsOptions) {
    const { facts } = service.options;
    const { sessionSealer: sealer } = options;
    this.#service = service;
    this.#options = options;
    this.#shared = facts && sealer && { facts, sealer };
  }

  async fetch(request: Request, caller: Caller, ended: Promise<void>, given: Given): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#begin(request, caller, ended, given);
    const session = this.#byId.get(id) ?? (await this.#open(id, caller));
    if (session === "full") return full();
    if (session === undefined || session.caller !== callerKey(caller.context)) return notFound();
    if (await this.#hasEnded(session)) {
      void this.#end(id);
      return notFound();
    }
    session.connection.renew(caller.context);
    try {
      if (request.method === "DELETE") await this.#noteEnd(session);
      const parsedBody = await session.transport.sort(given.parsedBody);
      // All of it was for other processes.
      if (parsedBody === undefined && given.parsedBody !== undefined)
        return new Response(null, { status: 202 });
      return this.#within(session, id, request, ended, { ...given, parsedBody });
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      return refuse(503, { code: -32_000, message: error.message }, { "Retry-After": "2" });
    }
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
    const isCall = request.method !== "GET";
    session.requests++;
    if (isCall) session.calls++;
    void ended.then(() => {
      session.requests--;
      if (isCall) session.calls--;
      session.usedAt = performance.now();
    });
    this.#byId.delete(id);
    this.#byId.set(id, session);
    const { transport, events } = session;
    return transport.handleRequest(
      request.method === "GET" ? withKnownEvent(request, events) : request,
      given,
    );
  }

  /** Begins a session with the request that initializes it. Any other request without a session is answered as the SDK does. */
  async #begin(request: Request, caller: Caller, ended: Promise<void>, given: Given): Promise<Response> {
    if (!isInitializeRequest(given.parsedBody))
      return new WebStandardStreamableHTTPServerTransport(NO_SESSION).handleRequest(request, given);
    const { context } = caller;
    const name = randomUUID();
    const about = aboutClient(given.parsedBody.params);
    const sealed = this.#shared?.sealer.seal(JSON.stringify([name, about]), purposeOf(context));
    const session = await this.#make(caller, name, await sealed);
    if (session === "full") return full();
    const response = await session.transport.handleRequest(request, given);
    if (session.transport.sessionId === undefined) await session.connection.close();
    else
      void ended.then(() => {
        session.usedAt = performance.now();
      });
    return response;
  }

  /**
   * Makes a session that is to be initialized, unless its principal has as many as it may, and something is asked in each.
   *
   * @param id of the session; by default an id that says nothing.
   */
  async #make(caller: Caller, name: string, id: string = randomUUID()): Promise<Session | "full"> {
    const { principal } = caller.context;
    if (!this.#makeRoom(principal)) return "full";
    const making = this.#making.get(principal) ?? 0;
    this.#making.set(principal, making + 1);
    try {
      return await this.#makeIn(caller, name, id);
    } finally {
      const left = (this.#making.get(principal) ?? 1) - 1;
      if (left === 0) this.#making.delete(principal);
      else this.#making.set(principal, left);
    }
  }

  async #makeIn({ context }: Caller, name: string, id: string): Promise<Session> {
    const connection = this.#service.connect({ ...context, session: name });
    const events = new RecentEvents();
    const shared = this.#shared;
    const transport = new SessionTransport(
      {
        sessionIdGenerator: () => id,
        eventStore: events,
        retryInterval: RETRY_MS,
        keepAliveMs: KEEP_ALIVE_MS,
        maxRequestBodySize: MAX_BODY_BYTES,
        onsessioninitialized: () => {
          this.#makeRoom(context.principal);
          this.#byId.set(id, session);
        },
        onsessionclosed: () => this.#end(id),
      },
      shared && new Elsewhere(shared.facts, shared.sealer, name),
    );
    const session: Session = {
      principal: context.principal,
      caller: callerKey(context),
      transport,
      connection,
      events,
      requests: 0,
      calls: 0,
      usedAt: performance.now(),
    };
    const instructions = await connection.instructions();
    const server = buildServer(this.#service, connection, instructions, "legacy", this.#options);
    server.onerror = (error) => this.#options.onWarning(error.message);
    connection.onToolsChanged = () => void server.sendToolListChanged().catch(() => {});
    await server.connect(transport);
    transport.follow();
    return session;
  }

  /** Opens a session that another process gave to this caller; `undefined` where none did. */
  #open(id: string, caller: Caller): Promise<Session | "full" | undefined> {
    const key = JSON.stringify([callerKey(caller.context), id]);
    let opening = this.#opening.get(key);
    if (opening === undefined) {
      opening = this.#openSealed(id, caller).finally(() => this.#opening.delete(key));
      this.#opening.set(key, opening);
    }
    return opening;
  }

  async #openSealed(id: string, caller: Caller): Promise<Session | "full" | undefined> {
    const opened = await this.#shared?.sealer.opened(id, purposeOf(caller.context));
    if (opened === undefined) return undefined;
    const [name, params]: [string, InitializeRequest["params"]] = JSON.parse(opened);
    const session = await this.#make(caller, name, id);
    if (session === "full") return session;
    // The client has initialized it elsewhere, and does not see that it is done again.
    const tell = async (message: object) => {
      const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
      const request = new Request("http://localhost/mcp", {
        method: "POST",
        headers: { ...headers, "Mcp-Session-Id": id },
      });
      const parsedBody = { jsonrpc: "2.0", ...message };
      await (await session.transport.handleRequest(request, { parsedBody })).text();
    };
    await tell({ id: 0, method: "initialize", params });
    await tell({ method: "notifications/initialized" });
    if (session.transport.sessionId !== undefined) return session;
    await session.connection.close();
    return undefined;
  }

  /** Whether a session was ended at any process. While that cannot be found out, none was. */
  async #hasEnded({ connection }: Session): Promise<boolean> {
    if (this.#shared === undefined) return false;
    const facts = await this.#shared.facts.read(nameOfConversation(connection.context)).catch(() => ({}));
    return Object.hasOwn(facts, ENDED);
  }

  /** Says to all processes that a session is ended. @throws ArchiveError */
  async #noteEnd({ connection }: Session): Promise<void> {
    const ended = { facts: { [ENDED]: "" }, keepMs: SESSION_MS };
    await this.#shared?.facts.note(nameOfConversation(connection.context), ended);
  }

  /**
   * Ends the session that was not used for longest, where there are too many. One with an open stream of news counts as not used;
   * one in which something is asked goes on. Whether there is room for one more.
   */
  #makeRoom(principal: string): boolean {
    const own = [...this.#byId].filter(([, session]) => session.principal === principal);
    const ofOne = own.length + (this.#making.get(principal) ?? 0);
    if (ofOne < MAX_SESSIONS_OF_ONE && this.#byId.size < MAX_SESSIONS) return true;
    const [unused] = (ofOne >= MAX_SESSIONS_OF_ONE ? own : [...this.#byId]).filter(
      ([, { calls }]) => calls === 0,
    );
    if (unused === undefined) return false;
    void this.#end(unused[0]);
    return true;
  }

  async #end(id: string): Promise<void> {
    const session = this.#byId.get(id);
    if (session === undefined) return;
    this.#byId.delete(id);
    await session.connection.close();
    await session.transport.close();
  }
}

/** The fact of a session that its client has ended. */
const ENDED = "ended";

/** A sealed session is its caller's. */
function purposeOf(context: Caller["context"]): string {
  return `mcp session ${callerKey(context)}`;
}

/** What a session has to know of its client, and no more: an id is sent with every request. */
function aboutClient({ protocolVersion, clientInfo, capabilities }: InitializeRequest["params"]) {
  const form = canShowForm(capabilities) && { form: {} };
  const url = canShowUrl(capabilities) && { url: {} };
  return {
    protocolVersion: protocolVersion.slice(0, MAX_VERSION_CHARS),
    clientInfo: claimOf(clientInfo),
    capabilities: {
      ...(form || url ? { elicitation: { ...form, ...url } } : {}),
      ...(canSample(capabilities) ? { sampling: {} } : {}),
    },
  };
}

const MAX_VERSION_CHARS = 20;

/**
 * A stream of news that was begun at another process goes on here with what comes from now on. A stream of answers that is not here
 * is not begun, because only the process that answers has it.
 */
function withKnownEvent(request: Request, events: RecentEvents): Request {
  const last = request.headers.get("last-event-id");
  if (last === null || !last.startsWith(`${NEWS}.`) || events.has(last)) return request;
  const headers = new Headers(request.headers);
  headers.delete("last-event-id");
  return new Request(request.url, { headers, signal: request.signal });
}

/** As the SDK names the stream that no request has begun. */
const NEWS = "_GET_stream";

const NO_SESSION = { sessionIdGenerator: randomUUID, maxRequestBodySize: MAX_BODY_BYTES };

function full(): Response {
  const message = `you have ${MAX_SESSIONS_OF_ONE} sessions, and something goes on in each: end one of them, or try again`;
  return refuse(429, { code: -32_000, message }, { "Retry-After": "10" });
}

function notFound(): Response {
  return refuse(404, { code: -32_001, message: "Session not found" });
}

function refuse(
  status: number,
  error: { code: number; message: string },
  headers: Record<string, string> = {},
): Response {
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status, headers });
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
    const chars = writeJson(message).length;
    this.#events.set(id, { stream, message, chars });
    this.#chars += chars;
    for (const [oldest, event] of this.#events) {
      if (oldest === id || (this.#events.size <= MAX_EVENTS && this.#chars <= MAX_EVENT_CHARS)) break;
      this.#events.delete(oldest);
      this.#chars -= event.chars;
    }
    return id;
  }

  has(id: string): boolean {
    return this.#events.has(id);
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
