import { Client, type Transport } from "@modelcontextprotocol/client";
import { orAborted } from "../../../base/or-aborted.ts";
import type { UpstreamConnection } from "../../upstream.ts";
import type { UpstreamError } from "../../upstream-error.ts";
import type { McpServerTarget } from "../mcp-server-target.ts";
import { UpstreamFaults } from "../upstream-faults.ts";
import { factsOf } from "./fault-facts.ts";
import { McpConnection } from "./mcp-connection.ts";
import { isLegacy, nextRoute, type Route } from "./routes.ts";
import { type Link, type LinkOptions, openLink } from "./server-link.ts";
import { TASKS_EXTENSION } from "./task.ts";

export interface ConnectOptions extends LinkOptions {
  /** ptc's own version, which is sent to servers. */
  clientVersion: string;
  /** The time for starting, negotiating and falling back together; then for each page of a listing. */
  connectTimeoutMs?: number;
  signal?: AbortSignal;
  /** The folders that the server is told of (MCP, "Roots"); none by default. */
  roots?: readonly string[] | undefined;
  /** Texts to mask in messages, in addition to the values of the server's env and headers. */
  secrets?: readonly string[];
}

const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;
/**
 * Starts or reaches an MCP server and negotiates a protocol version of either era (2025-11-25 and before, or 2026-07-28).
 * Streamable HTTP falls back to the older SSE, and SSE to Streamable HTTP, as specified ("Backwards Compatibility").
 *
 * @throws UpstreamError; the server is then ended.
 */
export async function connectMcpServer(
  target: McpServerTarget,
  options: ConnectOptions,
): Promise<UpstreamConnection> {
  const timeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  const roots = options.roots ?? [];
  const faults = new UpstreamFaults(target, () => [
    ...(options.secrets ?? []),
    ...(options.authorization?.secrets() ?? []),
  ]);
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
        const client = await handshake(link, route, options, timeoutMs, signal);
        return new McpConnection(client, link, faults, timeoutMs, roots);
      } catch (error) {
        await link.end().catch(() => {});
        if (options.signal?.aborted) throw faults.build("cancelled", "is not connected: no longer needed");
        if (timeLimit.signal.aborted) throw firstFault ?? faults.ofConnectTimeout(timeoutMs, link.diagnosis);
        const facts = factsOf(error);
        const fault = faults.ofConnect(facts, timeoutMs, link.diagnosis);
        const next = nextRoute(route, facts);
        if (next === undefined || tried.has(next)) throw firstFault ?? fault;
        // If the other transport fails too, the failure of the configured one is more useful.
        if (next.slice(0, 3) !== route.slice(0, 3)) firstFault ??= fault;
        route = next;
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

async function handshake(
  { transport }: Link,
  route: Route,
  { clientVersion: version, roots = [] }: ConnectOptions,
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
      // What is declared does not depend on whether anybody can be asked: some servers list other tools then.
      capabilities: {
        elicitation: { form: {}, url: {} },
        extensions: { [TASKS_EXTENSION]: {} },
        ...(roots.length === 0 ? {} : { roots: {} }),
      },
      inputRequired: { autoFulfill: false },
    },
  );
  const connected = client.connect(transport as unknown as Transport, {
    timeout: timeoutMs,
    ...(isLegacy(route) ? { prior: { kind: "legacy" } as const } : {}),
  });
  await orAborted(connected, signal, () => new Error("aborted"));
  return client;
}
