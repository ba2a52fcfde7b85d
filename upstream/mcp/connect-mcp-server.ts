import { Client, type Transport } from "@modelcontextprotocol/client";
import { orAborted } from "../../base/waiting.ts";
import { SKILLS_EXTENSION } from "../../protocol/extensions.ts";
import type { UpstreamConnection } from "../upstream.ts";
import type { UpstreamError } from "../upstream-error.ts";
import { McpConnection } from "./mcp-connection.ts";
import type { McpServerTarget } from "./mcp-server-target.ts";
import { isLegacy, type Link, type LinkOptions, nextRoute, openLink, type Route } from "./server-link.ts";
import { cachedFirst, isCacheTooOld, type StartSpent, StartTime } from "./start-time.ts";
import { TASKS_EXTENSION } from "./task.ts";
import { factsOf, UpstreamFaults } from "./upstream-faults.ts";

export interface ConnectOptions extends Omit<LinkOptions, "onGarbage"> {
  /** ptc's version, which is sent to servers. */
  clientVersion: string;
  /**
   * The time for starting, negotiating and falling back together; then for each page of a listing. For a server on stdio it restarts
   * whenever the server is seen at work, up to five minutes.
   */
  connectTimeoutMs?: number;
  /** Receives one line when a server on stdio takes long to start, and when a server in use prints what is no message. */
  onWarning?: ((message: string) => void) | undefined;
  signal?: AbortSignal;
  /** The folders that the server may ask for (MCP, "Roots"); none by default. */
  roots?: readonly string[] | undefined;
  /** Whether the server may ask for answers of the client's model (MCP, "Sampling"); by default it may not. */
  sampling?: boolean | undefined;
  /** Whether clients show views of the server's tools (MCP Apps); by default they do not. */
  apps?: boolean | undefined;
  /** Texts to mask in messages, in addition to the values of the server's env and headers. */
  secrets?: readonly string[];
}

/** MCP Apps (SEP-1865): the extension, and the kind of views. */
const APPS_EXTENSION = "io.modelcontextprotocol/ui";
const VIEW = "text/html;profile=mcp-app";

const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;
/** The maximum delay of a timer. `StartTime` limits the time of a server on stdio. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/**
 * Starts or reaches an MCP server and negotiates a protocol version of either era (up to 2025-11-25, or 2026-07-28). Streamable HTTP
 * falls back to the older SSE, and SSE to Streamable HTTP, as specified ("Backwards Compatibility").
 *
 * @throws UpstreamError after ending the server.
 */
export async function connectMcpServer(
  target: McpServerTarget,
  options: ConnectOptions,
): Promise<UpstreamConnection> {
  const timeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  const offered = { roots: options.roots ?? [], samples: options.sampling === true };
  const faults = new UpstreamFaults(target, () => [
    ...(options.secrets ?? []),
    ...(options.authorization?.secrets() ?? []),
  ]);
  const timeLimit = new AbortController();
  let link: Link | undefined;
  let spent: StartSpent = { workedMs: 0, quietMs: timeoutMs };
  let time: { end(): void };
  if (target.transport === "stdio") {
    time = new StartTime({
      quietMs: timeoutMs,
      isAtWork: async () => (await link?.isAtWork?.()) === true,
      onHalf: () => link?.passQuestion?.(),
      onSlow: (seconds) =>
        options.onWarning?.(faults.describeSlowStart(seconds, options.launch !== undefined)),
      onOver(found) {
        spent = found;
        timeLimit.abort();
      },
    });
  } else {
    const timer = setTimeout(() => timeLimit.abort(), timeoutMs);
    time = { end: () => clearTimeout(timer) };
  }
  const signal =
    options.signal === undefined ? timeLimit.signal : AbortSignal.any([timeLimit.signal, options.signal]);
  let firstFault: UpstreamError | undefined;
  let commandDefaults = target.transport === "stdio" ? cachedFirst(target.command) : {};
  try {
    for (let route: Route = target.transport, tried = new Set<Route>(); ; ) {
      tried = tried.add(route);
      let isInUse = false;
      const onGarbage = (first: string) => {
        // Of a server that cannot be used, the failure says it.
        if (isInUse) options.onWarning?.(faults.describeGarbage(first));
      };
      const opened = openLink(target, route, { ...options, onGarbage, commandDefaults }, timeoutMs);
      link = opened;
      try {
        const client = await handshake(opened, route, options, timeoutMs, signal);
        isInUse = true;
        const skipped = opened.diagnosis?.firstGarbage;
        if (skipped !== undefined) onGarbage(skipped);
        return new McpConnection(client, opened, faults, timeoutMs, offered);
      } catch (error) {
        await opened.end().catch(() => {});
        if (options.signal?.aborted) throw faults.build("cancelled", "is not connected: no longer needed");
        if (timeLimit.signal.aborted) throw firstFault ?? faults.ofConnectTimeout(spent, opened.diagnosis);
        if (
          target.transport === "stdio" &&
          Object.keys(commandDefaults).length > 0 &&
          isCacheTooOld(target.command, opened.diagnosis?.stderrTail ?? "")
        ) {
          commandDefaults = {};
          continue;
        }
        const facts = factsOf(error);
        const fault = faults.ofConnect(facts, timeoutMs, opened.diagnosis, opened.lastAnswer?.());
        const next = nextRoute(route, facts);
        if (next === undefined || tried.has(next)) throw firstFault ?? fault;
        // If the other transport fails too, the failure of the configured one is more useful.
        if (next.slice(0, 3) !== route.slice(0, 3)) firstFault ??= fault;
        route = next;
      }
    }
  } finally {
    time.end();
  }
}

async function handshake(
  { session }: Link,
  route: Route,
  { clientVersion: version, roots = [], apps = false, sampling = false }: ConnectOptions,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Client> {
  const requestMs = route.startsWith("stdio") ? NO_LIMIT_MS : timeoutMs;
  const client = new NegotiatingClient(
    { name: "ptc", version },
    {
      // A silent program may be slow to start, or old; `StartTime` decides which. Silence over HTTP says nothing about age.
      versionNegotiation: { mode: "auto", probe: { timeoutMs: requestMs } },
      // The declared capabilities do not depend on whether a person can be asked, because some servers then list other tools.
      capabilities: {
        elicitation: { form: {}, url: {} },
        extensions: {
          [TASKS_EXTENSION]: {},
          [SKILLS_EXTENSION]: {},
          ...(apps ? { [APPS_EXTENSION]: { mimeTypes: [VIEW] } } : {}),
        },
        ...(roots.length === 0 ? {} : { roots: {} }),
        ...(sampling ? { sampling: {} } : {}),
      },
      inputRequired: { autoFulfill: false },
    },
  );
  const connected = client.connect(session as unknown as Transport, {
    timeout: requestMs,
    ...(isLegacy(route) ? { prior: { kind: "legacy" } as const } : {}),
  });
  await orAborted(connected, signal, () => new Error("aborted"));
  session.requestMeta = client.requestMeta;
  return client;
}

/** The MCP client, which also provides what the negotiated protocol version requires in every request. */
class NegotiatingClient extends Client {
  get requestMeta(): Readonly<Record<string, unknown>> | undefined {
    return this._outboundMetaEnvelope();
  }
}
