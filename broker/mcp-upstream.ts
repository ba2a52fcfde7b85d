import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { MAX_REPLY_FRAME_BYTES } from "../protocol/limits.ts";
import { buildBoundedFetch } from "./bounded-fetch.ts";
import type { McpServerTarget } from "./mcp-server-target.ts";
import type { MessageTransport } from "./message-transport.ts";
import { buildParameterHeaders } from "./parameter-headers.ts";
import { RawResultTransport, rawResultFaultOf, rawResultOf } from "./raw-results.ts";
import { type StdioDiagnosis, StdioTransport } from "./stdio-transport.ts";
import { listAllPages, ToolListingError } from "./tool-listing.ts";
import type { UpstreamCallOptions, UpstreamConnection } from "./upstream.ts";
import type { UpstreamError } from "./upstream-error.ts";
import { type FaultFacts, UpstreamFaults } from "./upstream-faults.ts";

export interface ConnectOptions {
  /** ptc's own version, which servers are told. */
  clientVersion: string;
  /** For the whole of starting, negotiating and falling back. */
  connectTimeoutMs?: number;
  signal?: AbortSignal;
  /** Texts that messages must not hold, beside the values of the server's env and headers. */
  secrets?: readonly string[];
  maxMessageBytes?: number;
  /** Get the process group of a server on stdio. */
  onSpawn?: (pid: number) => void;
  onExit?: (pid: number) => void;
}

/**
 * How a server is tried. `legacy` skips the question which era it speaks, for servers that do not survive it; they are
 * of the era before it.
 */
type Route = "stdio" | "stdio-legacy" | "http" | "http-legacy" | "sse";

interface Link {
  transport: RawResultTransport;
  /** What a server on stdio let know of itself. */
  diagnosis?: Readonly<StdioDiagnosis>;
  end(): Promise<void>;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;
const LIST_PAGE_TIMEOUT_MS = 60_000;
const END_SESSION_TIMEOUT_MS = 1_000;
const METHOD_NOT_FOUND = -32601;

/** Takes any result; what comes out is what the server sent. */
const RawResult = {
  "~standard": { version: 1, vendor: "ptc", validate: (value: unknown) => ({ value: rawResultOf(value) }) },
} as const;

/**
 * Starts or reaches an MCP server and agrees with it on a protocol version, of either era (2025-11-25 and before, or
 * 2026-07-28). Streamable HTTP falls back to the older SSE, and SSE to Streamable HTTP, as the specification has it
 * ("Backwards Compatibility").
 *
 * @throws UpstreamError; nothing of the server is left running then.
 */
export async function connectMcpServer(
  target: McpServerTarget,
  options: ConnectOptions,
): Promise<UpstreamConnection> {
  const timeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  const faults = new UpstreamFaults(target, options.secrets ?? []);
  const timeLimit = new AbortController();
  const timer = setTimeout(() => timeLimit.abort(), timeoutMs);
  const signal =
    options.signal === undefined ? timeLimit.signal : AbortSignal.any([timeLimit.signal, options.signal]);
  let firstFault: UpstreamError | undefined;
  try {
    for (let route: Route = target.transport, tried = new Set<Route>(); ; ) {
      tried = tried.add(route);
      const link = openLink(target, route, options, timeoutMs);
      try {
        const client = await handshake(link, route, options.clientVersion, timeoutMs, signal);
        return new McpConnection(client, link, faults);
      } catch (error) {
        await link.end();
        if (options.signal?.aborted) throw faults.build("cancelled", "is not connected: no longer needed");
        if (timeLimit.signal.aborted) throw firstFault ?? faults.ofConnectTimeout(timeoutMs, link.diagnosis);
        const facts = factsOf(error);
        const fault = faults.ofConnect(facts, timeoutMs, link.diagnosis);
        const next = fallback(route, facts);
        if (next === undefined || tried.has(next)) throw firstFault ?? fault;
        // When another transport fails too, the complaint about the configured one is of more use.
        if (next.slice(0, 3) !== route.slice(0, 3)) firstFault ??= fault;
        route = next;
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

function fallback(route: Route, { kind, status }: FaultFacts): Route | undefined {
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

function openLink(target: McpServerTarget, route: Route, options: ConnectOptions, timeoutMs: number): Link {
  const maxMessageBytes = options.maxMessageBytes ?? MAX_REPLY_FRAME_BYTES;
  if (target.transport === "stdio") {
    const { onSpawn, onExit } = options;
    const stdio = new StdioTransport({ ...target, maxMessageBytes, onSpawn, onExit });
    const transport = new StdioShaped(stdio);
    stdio.onOversize((id) => transport.fail(id, "oversize"));
    return { transport, diagnosis: stdio.diagnosis, end: () => stdio.close() };
  }
  const { url, headers } = splitCredentials(target);
  let transport: RawResultTransport | undefined;
  const fetch = buildBoundedFetch(maxMessageBytes, () => transport?.fail(transport.sendingId, "oversize"));
  const init = { fetch, requestInit: { headers } };
  if (route === "sse") {
    const sse = new SSEClientTransport(url, init);
    const start = sse.start.bind(sse);
    // An endpoint of Streamable HTTP may open a stream too, on which the event that names the endpoint never comes.
    sse.start = () => rejectAfter(start(), timeoutMs / 3, "no endpoint event came");
    transport = new RawResultTransport(sse as unknown as MessageTransport);
    endOnStreamError(sse);
    return { transport, end: () => sse.close() };
  }
  const http = new StreamableHTTPClientTransport(url, init);
  transport = new RawResultTransport(http as unknown as MessageTransport);
  const end = async () => {
    if (http.sessionId !== undefined) {
      await rejectAfter(http.terminateSession(), END_SESSION_TIMEOUT_MS, "the session did not end").catch(
        () => {},
      );
    }
    await http.close();
  };
  return { transport, end };
}

/** The client tells by these two members that a transport is a pipe to a local process, on which silence means an old server. */
class StdioShaped extends RawResultTransport {
  readonly stderr = null;
  readonly pid = null;
}

/** A stream that breaks would be opened again by itself, as a session that has not been initialised. */
function endOnStreamError(sse: SSEClientTransport): void {
  const report = sse.onerror;
  sse.onerror = (error) => {
    report?.(error);
    if (error instanceof SseError) void sse.close();
  };
}

async function handshake(
  { transport }: Link,
  route: Route,
  version: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Client> {
  const client = new Client(
    { name: "ptc", version },
    {
      // A silent program may be slow to start as well as old, so it has half of the time for either. Silence over HTTP
      // says nothing about age.
      versionNegotiation: {
        mode: "auto",
        probe: { timeoutMs: route === "stdio" ? timeoutMs / 2 : timeoutMs },
      },
      inputRequired: { autoFulfill: false },
    },
  );
  const legacy = route === "stdio-legacy" || route === "http-legacy" || route === "sse";
  const connected = client.connect(transport as unknown as Transport, {
    timeout: timeoutMs,
    ...(legacy ? { prior: { kind: "legacy" } as const } : {}),
  });
  await raceAbort(connected, signal);
  return client;
}

class McpConnection implements UpstreamConnection {
  readonly implementation: { name: string; version: string };
  readonly protocolVersion: string;
  readonly #client: Client;
  readonly #link: Link;
  readonly #faults: UpstreamFaults;
  #toolsChanged: (() => void)[] = [];
  #lost: ((reason: UpstreamError) => void)[] = [];
  #reason: UpstreamError | undefined;
  #closing: Promise<void> | undefined;

  constructor(client: Client, link: Link, faults: UpstreamFaults) {
    this.#client = client;
    this.#link = link;
    this.#faults = faults;
    const { name, version } = client.getServerVersion() ?? { name: "", version: "" };
    this.implementation = { name, version };
    this.protocolVersion = client.getNegotiatedProtocolVersion() ?? "";
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      for (const listener of this.#toolsChanged) listener();
    });
    client.onclose = () => this.#lose(faults.ofLoss(link.diagnosis));
    if (client.transport === undefined) this.#lose(faults.ofLoss(link.diagnosis));
    // Faults that no request is to blame for, such as a late answer to one that was given up.
    client.onerror = () => {};
  }

  async listTools(signal?: AbortSignal): Promise<unknown[]> {
    try {
      return await listAllPages((cursor) =>
        this.#client.request(
          { method: "tools/list", ...(cursor === undefined ? {} : { params: { cursor } }) },
          RawResult,
          { timeout: LIST_PAGE_TIMEOUT_MS, ...(signal === undefined ? {} : { signal }) },
        ),
      );
    } catch (error) {
      const noTools = this.#client.getServerCapabilities()?.tools === undefined;
      if (noTools && error instanceof ProtocolError && error.code === METHOD_NOT_FOUND) return [];
      throw this.#fault(error, LIST_PAGE_TIMEOUT_MS, signal);
    }
  }

  async callTool(tool: string, args: unknown, options: UpstreamCallOptions): Promise<unknown> {
    const { timeoutMs, signal, definition } = options;
    let result: unknown;
    try {
      result = await this.#client.request(
        { method: "tools/call", params: { name: tool, ...(args === undefined ? {} : { arguments: args }) } },
        RawResult,
        { timeout: timeoutMs, signal, headers: buildParameterHeaders(definition, args) },
      );
    } catch (error) {
      throw this.#fault(error, timeoutMs, signal);
    }
    if (typeof result !== "object" || result === null || Array.isArray(result)) {
      throw this.#faults.build("protocol_error", "answered a call with something that is no tool result");
    }
    if ("resultType" in result && result.resultType !== "complete") {
      throw this.#faults.build(
        "protocol_error",
        "wants more input in the middle of a call, which ptc cannot give",
      );
    }
    return result;
  }

  onToolsChanged(listener: () => void): void {
    this.#toolsChanged.push(listener);
    if (this.#toolsChanged.length > 1 || this.#client.getProtocolEra() !== "modern") return;
    if (this.#client.getServerCapabilities()?.tools?.listChanged !== true) return;
    this.#client.listen({ toolsListChanged: true }).catch(() => {});
  }

  onLost(listener: (reason: UpstreamError) => void): void {
    if (this.#reason !== undefined && this.#closing === undefined) listener(this.#reason);
    this.#lost.push(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#link.end();
    return this.#closing;
  }

  #lose(reason: UpstreamError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    if (this.#closing !== undefined) return;
    for (const listener of this.#lost) listener(reason);
  }

  #fault(error: unknown, timeoutMs: number, signal: AbortSignal | undefined): UpstreamError {
    const fault = this.#faults.ofRequest(factsOf(error), timeoutMs, signal, this.#link.diagnosis);
    if (fault.code === "disconnected") {
      this.#lose(fault);
      void this.#link.end();
    }
    return fault;
  }
}

/** What the client's error says, free of its classes. */
function factsOf(error: unknown): FaultFacts {
  const facts: FaultFacts = { kind: "other", cause: error };
  if (error instanceof ToolListingError) return { ...facts, kind: "listing" };
  if (error instanceof ProtocolError) {
    return { ...facts, kind: "answer", rpcCode: error.code, replaced: rawResultFaultOf(error.data) };
  }
  if (error instanceof SdkHttpError) return { ...facts, kind: "http", status: error.status };
  if (error instanceof SseError && error.code !== undefined)
    return { ...facts, kind: "http", status: error.code };
  const networkReason = networkReasonOf(error);
  if (networkReason !== undefined) return { ...facts, kind: "network", networkReason };
  if (error instanceof SyntaxError || (error instanceof Error && error.name === "ZodError")) {
    return { ...facts, kind: "garbage" };
  }
  if (!(error instanceof SdkError)) return facts;
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return { ...facts, kind: "timeout" };
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
      return { ...facts, kind: "closed" };
    case SdkErrorCode.EraNegotiationFailed:
      return { ...facts, kind: "negotiation" };
    default:
      return { ...facts, kind: "violation" };
  }
}

/** Why nothing was heard of the server: a system's code such as ECONNREFUSED, from wherever `fetch` and the client keep it. */
function networkReasonOf(error: unknown): string | undefined {
  for (
    let fault: unknown = error, depth = 0;
    fault instanceof Error && depth < 5;
    fault = fault.cause, depth++
  ) {
    const code = (fault as NodeJS.ErrnoException).code;
    if (typeof code === "string" && /^(?:E[A-Z]{3,}|UND_ERR_\w+|CERT_\w+|\w+_CERT\w*)$/.test(code))
      return code;
    // What `fetch` throws, its reason in a cause that need not have a code.
    if (fault instanceof TypeError && !(fault.cause instanceof Error && "code" in fault.cause)) {
      return fault.cause instanceof Error ? fault.cause.message : fault.message;
    }
    if (!(fault instanceof SseError) || fault.code !== undefined) continue;
    const named = /\bE[A-Z]{5,}\b/.exec(fault.message) ?? /fetch failed/.exec(fault.message);
    if (named !== null) return named[0];
  }
  return undefined;
}

/** `fetch` refuses URLs with a user in them; Basic authentication says the same. */
function splitCredentials(target: { url: string; headers: Readonly<Record<string, string>> }) {
  const url = new URL(target.url);
  const headers = new Headers(target.headers);
  if (url.username !== "" || url.password !== "") {
    const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    if (!headers.has("authorization"))
      headers.set("authorization", `Basic ${Buffer.from(user).toString("base64")}`);
    url.username = "";
    url.password = "";
  }
  return { url, headers };
}

async function rejectAfter<T>(promise: Promise<T>, ms: number, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new Error("aborted"));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    promise.catch(() => {});
  }
}
