/**
 * Carries `McpService` over MCP's Streamable HTTP with the SDK's handlers, in either era. A request of 2026-07-28 stands for itself:
 * any process answers it, and what a question needs comes back with its answer, sealed. One of 2025-11-25 belongs to a session,
 * which is its caller's alone (`mcp-sessions.ts`).
 */

import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { ForeignJsonError, isObject } from "../../base/json.ts";
import { parseForeignJsonInTurns } from "../../base/json-in-turns.ts";
import type { Caller } from "../../identity/caller.ts";
import { MAX_NESTING_DEPTH, MAX_VALUES } from "../../protocol/limits.ts";
import { identityKey } from "../../protocol/run-context.ts";
import { type Asker, buildServer, type StateSealer } from "../mcp/mcp-server.ts";
import type { McpConnection, McpService } from "../mcp/service.ts";
import { McpSessions } from "./mcp-sessions.ts";

/** The largest body of a request. */
export const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** No wider than what programs are handed. */
const MESSAGE_LIMITS = { maxBytes: MAX_BODY_BYTES, maxDepth: MAX_NESTING_DEPTH, maxValues: MAX_VALUES };
/** How often a stream that says nothing else shows that it is alive. */
const KEEP_ALIVE_MS = 15_000;

/** How long what is known of a caller is kept after the last request. */
const IDLE_MS = 30 * 60_000;
/** The one method whose answer has the instructions. */
const TELLS_INSTRUCTIONS = "server/discover";
const MAX_CALLERS = 10_000;
const SWEEP_MS = 60_000;

export interface McpOverHttpOptions {
  sealer: StateSealer;
  /** Seals sessions of MCP 2025-11-25, where several processes answer the requests of each. */
  sessionSealer?: StateSealer | undefined;
  onWarning: (message: string) => void;
}

export class McpOverHttp {
  readonly #service: McpService;
  readonly #options: McpOverHttpOptions;
  readonly #sessions: McpSessions;
  readonly #modern: McpHttpHandler;
  readonly #known = new KnownCallers((caller) => this.#service.connect(caller.context, { isOfMany: true }));
  readonly #sweep: NodeJS.Timeout;

  constructor(service: McpService, options: McpOverHttpOptions) {
    this.#service = service;
    this.#options = options;
    this.#sessions = new McpSessions(service, { ...options, asker });
    const open = (caller: Caller, request?: Request) => this.#serverFor(caller, request);
    this.#modern = createMcpHandler(({ authInfo, requestInfo }) => open(callerIn(authInfo), requestInfo), {
      legacy: "reject",
      responseMode: "sse",
      keepAliveMs: KEEP_ALIVE_MS,
      maxRequestBodySize: MAX_BODY_BYTES,
      onerror: (error) => options.onWarning(error.message),
    });
    service.options.catalog.onServersChanged(() => this.#modern.notify.toolsChanged());
    service.options.catalog.onNotice?.((_module, _principal, notice) => {
      if (notice.kind !== "listed") return;
      if (notice.lists.includes("resources")) this.#modern.notify.resourcesChanged();
      if (notice.lists.includes("prompts")) this.#modern.notify.promptsChanged();
    });
    this.#sweep = setInterval(() => {
      this.#known.sweep();
      this.#sessions.sweep();
    }, SWEEP_MS);
    this.#sweep.unref();
  }

  /**
   * Answers one request of a caller. `ended` resolves when the client has the whole answer, or has gone.
   */
  async fetch(sent: Request, caller: Caller, ended: Promise<void>): Promise<Response> {
    if (!acceptsStream(sent))
      return refuse(406, "Not Acceptable: clients accept application/json and text/event-stream");
    const { request, problem, ...message } = await readMessage(sent);
    if (problem !== undefined) return refuse(400, `the message ${problem}`);
    const given = { authInfo: authInfoOf(caller), ...message };
    if (await isLegacyRequest(request, given.parsedBody, { maxRequestBodySize: MAX_BODY_BYTES }))
      return this.#sessions.fetch(request, caller, ended, given);
    this.#known.take(caller);
    void ended.then(() => this.#known.release(caller));
    return this.#modern.fetch(request, given);
  }

  /** Ends streams that wait for nothing but news, so that nobody counts on this process. */
  closeStreams(): void {
    this.#sessions.closeStreams();
  }

  /** Cancels what runs, and resolves when it has ended. Its clients are answered. */
  async cancel(): Promise<void> {
    await Promise.all([this.#sessions.cancel(), this.#known.close()]);
  }

  /** Cancels what runs, and ends all streams. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await this.cancel();
    await Promise.all([this.#sessions.close(), this.#modern.close()]);
  }

  /** A server for one request. The header that names its method is that of its message, which the SDK has seen to by now. */
  async #serverFor(caller: Caller, request: Request | undefined) {
    const connection = this.#known.connectionOf(caller);
    const { sealer } = this.#options;
    const method = request?.headers.get("mcp-method") ?? TELLS_INSTRUCTIONS;
    // They name tools, so that all that the caller may see are looked through for them.
    const instructions = method === TELLS_INSTRUCTIONS ? await connection.instructions() : "";
    return buildServer(this.#service, connection, instructions, "modern", {
      sealer,
      asker,
      isOfRequest: true,
    });
  }
}

/**
 * Reads the body of a request once, for all that look at it. A body that is no JSON stays in the request, and the SDK says what is
 * wrong with it.
 */
async function readMessage(
  request: Request,
): Promise<{ request: Request; parsedBody?: unknown; problem?: string }> {
  if (request.method !== "POST") return { request };
  const text = await request.text();
  try {
    const parsedBody = await parseForeignJsonInTurns(text, MESSAGE_LIMITS);
    if (isTooBroad(parsedBody)) return { request, problem: "has too many members to be one of MCP" };
    return { request, parsedBody };
  } catch (error) {
    if (error instanceof ForeignJsonError && error.code !== "not_json")
      return { request, problem: error.message };
    return { request: new Request(request, { body: text }) };
  }
}

/** Whether a message, or its parameters, have more members than any of MCP. Each is looked at many times. */
function isTooBroad(message: unknown): boolean {
  if (Array.isArray(message)) return message.length > MAX_BROAD;
  if (!isObject(message)) return false;
  const { params, result } = message;
  return [message, params, result].some((each) => isObject(each) && Object.keys(each).length > MAX_BROAD);
}

const MAX_BROAD = 200;

/** Whether an answer may be a stream, as that to every request may be ("Sending Messages to the Server"). */
function acceptsStream({ method, headers }: Request): boolean {
  if (method !== "POST" && method !== "GET") return true;
  return /(?:^|,)\s*(?:text\/(?:event-stream|\*)|\*\/\*)\s*(?:;|,|$)/i.test(headers.get("accept") ?? "");
}

function refuse(status: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }, { status });
}

const CALLER = "ptc/caller";

/** A caller in the form in which the SDK hands it on. Its token goes nowhere. */
function authInfoOf(caller: Caller) {
  const { context, scopes } = caller;
  return { token: "", clientId: context.principal, scopes: [...scopes], extra: { [CALLER]: caller } };
}

function callerIn(authInfo: { extra?: Record<string, unknown> } | undefined): Caller {
  const caller = authInfo?.extra?.[CALLER];
  if (caller === undefined) throw new Error("a request came in without its caller");
  return caller as Caller;
}

function asker({ http }: ServerContext): Asker {
  const { context, scopes } = callerIn(http?.authInfo);
  return { mayApprove: scopes.has("ptc:approve"), clientId: context.clientId };
}

/**
 * What this process knows of callers of requests that stand for themselves: what their models were told and shown. Requests of one
 * principal with the same groups share it.
 */
class KnownCallers {
  readonly #connect: (caller: Caller) => McpConnection;
  /** The least recently used first. */
  readonly #byKey = new Map<string, { connection: McpConnection; requests: number; usedAt: number }>();

  constructor(connect: (caller: Caller) => McpConnection) {
    this.#connect = connect;
  }

  connectionOf(caller: Caller): McpConnection {
    return this.#entry(caller).connection;
  }

  take(caller: Caller): void {
    this.#entry(caller).requests++;
  }

  release(caller: Caller): void {
    const entry = this.#byKey.get(keyOf(caller));
    if (entry === undefined) return;
    entry.requests--;
    entry.usedAt = performance.now();
  }

  sweep(): void {
    const oldest = performance.now() - IDLE_MS;
    for (const [key, { requests, usedAt }] of [...this.#byKey])
      if (requests === 0 && usedAt < oldest) this.#drop(key);
  }

  async close(): Promise<void> {
    const all = [...this.#byKey.values()];
    this.#byKey.clear();
    await Promise.all(all.map(({ connection }) => connection.close()));
  }

  #entry(caller: Caller) {
    const key = keyOf(caller);
    const known = this.#byKey.get(key);
    known?.connection.renew(caller.context);
    const entry = known ?? { connection: this.#connect(caller), requests: 0, usedAt: performance.now() };
    this.#byKey.delete(key);
    this.#byKey.set(key, entry);
    if (known === undefined && this.#byKey.size > MAX_CALLERS) {
      const [idle] = [...this.#byKey].find(([, { requests }]) => requests === 0) ?? [];
      if (idle !== undefined && idle !== key) this.#drop(idle);
    }
    return entry;
  }

  #drop(key: string): void {
    void this.#byKey.get(key)?.connection.close();
    this.#byKey.delete(key);
  }
}

function keyOf({ context }: Caller): string {
  return identityKey(context);
}
