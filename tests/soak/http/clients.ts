/** Clients of both SDKs that use several replicas as if they were one. */
import { setTimeout as delay } from "node:timers/promises";
import {
  Client as ModernClient,
  ClientCredentialsProvider as ModernCredentials,
  StreamableHTTPClientTransport as ModernHttp,
} from "@modelcontextprotocol/client";
import { ClientCredentialsProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { messageOf } from "../../../base/faults.ts";
import { Envelope } from "../../../protocol/envelope.ts";
import { SCOPES, SECRET } from "./surroundings.ts";

/** How long a client waits for a reply. Only what hangs takes so long. */
const PATIENCE_MS = 600_000;

/** How often a request is sent to one replica after another, none of which takes it. */
const MAX_TRIES = 600;
const RETRY_MS = 50;

/** What became of a program, as its client saw it. */
export interface Told {
  envelope: Envelope | undefined;
  /** Whether the reply says that the run is not in the archive. */
  isUnrecorded: boolean;
  /** What the client was told instead of an envelope: by a reply, or by the end of its connection. */
  instead: { kind: "reply" | "lost" | "nothing"; text: string } | undefined;
  /** The replicas that took the requests of the program, in turn. */
  replicas: number[];
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Where the replicas are. A balancer's work: the next one takes a request, and one that is not there is passed by. */
export class Balanced {
  /** What all clients are given. It leads to any of the replicas. */
  readonly url: URL;
  readonly #origins: readonly string[];
  readonly #sessions = new Map<string, number>();

  /** @param origins of the replicas, which may change meanwhile. @param url where the replicas say that they are. */
  constructor(origins: readonly string[], url: string = `${origins[0]}/mcp`) {
    this.#origins = origins;
    this.url = new URL(url);
  }

  /** @param first the replica that takes the first request. */
  fetchFrom(first: number, onTaken: (replica: number) => void): Fetch {
    let turn = first;
    return async (url, init = {}) => {
      const target = new URL(url);
      if (target.origin !== this.url.origin) return fetch(target, init);
      const session = new Headers(init.headers).get("mcp-session-id");
      const pinned = session === null ? undefined : this.#sessions.get(session);
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const replica = pinned ?? turn++ % this.#origins.length;
        const origin = this.#origins[replica];
        if (origin === undefined && pinned !== undefined) throw new Error("the session's replica is gone");
        const headers = new Headers(init.headers);
        headers.set("x-forwarded-host", this.url.host);
        const at = new URL(`${target.pathname}${target.search}`, origin ?? this.url);
        // None may be ready for a moment, such as while a kubelet starts again.
        const asked = origin === undefined ? Promise.resolve(undefined) : fetch(at, { ...init, headers });
        const response = await asked.catch((error: unknown) => {
          if (pinned !== undefined || !isUnreached(error)) throw error;
          return undefined;
        });
        if (response === undefined || (response.status === 503 && pinned === undefined)) {
          await response?.body?.cancel();
          await delay(RETRY_MS);
          continue;
        }
        const begun = response.headers.get("mcp-session-id");
        if (begun !== null) this.#sessions.set(begun, replica);
        if (init.method === "POST" && target.pathname === this.url.pathname) onTaken(replica);
        return response;
      }
      throw new Error("no replica takes requests");
    };
  }
}

/** Whether a request has not got anywhere, so that it may be sent to another. */
function isUnreached(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown } };
  return ["ECONNREFUSED", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"].includes(String(cause?.code));
}

interface Connected {
  call(code: string, id: string, signal: AbortSignal): Promise<{ _meta?: unknown; content?: unknown }>;
  close(): Promise<void>;
}

/** Somebody with a client, who runs one program at a time and approves whatever they are asked. */
export class SoakClient {
  readonly name: string;
  readonly #connect: () => Promise<Connected>;
  /** Called with what goes wrong beside a request, such as a stream that is not taken up again. */
  #onError: (error: Error) => void = () => {};
  #replicas: number[] = [];
  #connected: Connected | undefined;

  /**
   * @param era of the protocol: with a session at one replica, or without.
   * @param login where tokens come from, or one of ptc's own.
   */
  constructor(
    name: string,
    era: "2025-11-25" | "2026-07-28",
    balanced: Balanced,
    login: { issuer: string } | { token: string },
  ) {
    this.name = name;
    const first = [...name].reduce((sum, char) => sum + char.charCodeAt(0), 0);
    const balancing = balanced.fetchFrom(first, (replica) => void this.#replicas.push(replica));
    const fetching: Fetch = (url, init = {}) => {
      const headers = new Headers(init.headers);
      if ("token" in login) headers.set("authorization", `Bearer ${login.token}`);
      return balancing(url, { ...init, headers });
    };
    const credentials =
      "issuer" in login
        ? { clientId: name, clientSecret: SECRET, expectedIssuer: login.issuer, scope: SCOPES }
        : undefined;
    const onError = (error: Error) => this.#onError(error);
    this.#connect = () =>
      era === "2025-11-25"
        ? connectSession(balanced.url, fetching, credentials, onError)
        : connectStateless(balanced.url, fetching, credentials, onError);
  }

  /** Runs one program. Never rejects. */
  async run(id: string, code: string): Promise<Told> {
    this.#replicas = [];
    const lost = new AbortController();
    this.#onError = (error) => {
      if (/reconnect|disconnected|session not found/i.test(error.message)) lost.abort(error);
    };
    try {
      this.#connected ??= await this.#connect();
      this.#replicas = [];
      const { _meta, content } = await this.#connected.call(code, id, lost.signal);
      const { "ptc/envelope": given } = (_meta ?? {}) as Record<string, unknown>;
      const { data: envelope } = Envelope.safeParse(given);
      const text = JSON.stringify(content);
      const instead = envelope === undefined ? { kind: "reply" as const, text } : undefined;
      const isUnrecorded = envelope !== undefined && text.includes(`${envelope.run_id} is not archived`);
      return { envelope, isUnrecorded, instead, replicas: this.#replicas };
    } catch (error) {
      const text = messageOf(error);
      await this.close();
      const kind = /timed out/i.test(text) ? ("nothing" as const) : ("lost" as const);
      return {
        ...{ envelope: undefined, isUnrecorded: false },
        ...{ instead: { kind, text }, replicas: this.#replicas },
      };
    }
  }

  async close(): Promise<void> {
    const connected = this.#connected;
    this.#connected = undefined;
    await connected?.close().catch(() => {});
  }
}

interface Credentials {
  scope: string;
  clientId: string;
  clientSecret: string;
  expectedIssuer: string;
}

const IDENTITY = { name: "soak", version: "1.0.0" };
const APPROVED = { action: "accept" as const, content: { decision: "once" } };

const request = (code: string, id: string) => ({
  name: "execute_program",
  arguments: { code, data: { id } },
});

async function connectStateless(
  url: URL,
  fetch: Fetch,
  credentials: Credentials | undefined,
  onError: (error: Error) => void,
): Promise<Connected> {
  const client = new ModernClient(IDENTITY, {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: "auto" },
  });
  client.setRequestHandler("elicitation/create", () => APPROVED);
  client.onerror = onError;
  const authProvider = credentials && new ModernCredentials(credentials);
  await client.connect(new ModernHttp(url, { fetch, ...(authProvider && { authProvider }) }));
  return {
    call: (code, id, signal) => client.callTool(request(code, id), { signal, timeout: PATIENCE_MS }),
    close: () => client.close(),
  };
}

async function connectSession(
  url: URL,
  fetch: Fetch,
  credentials: Credentials | undefined,
  onError: (error: Error) => void,
): Promise<Connected> {
  const client = new Client(IDENTITY, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => APPROVED);
  client.onerror = onError;
  const authProvider = credentials && new ClientCredentialsProvider(credentials);
  const transport = new StreamableHTTPClientTransport(url, { fetch, ...(authProvider && { authProvider }) });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    call: (code, id, signal) =>
      client.callTool(request(code, id), undefined, { signal, timeout: PATIENCE_MS }),
    close: () => client.close(),
  };
}
