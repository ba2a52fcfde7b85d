import type { PassThrough } from "node:stream";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect } from "vitest";
import type { serve } from "./served.ts";

/** What a client's person says to a question. */
type Answer = (message: string) => object | Promise<object>;

/** The client's end of a connection, as both clients take it. */
export class StreamTransport {
  onmessage?: (message: never) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #toServer: PassThrough;
  readonly #toClient: PassThrough;

  constructor({ toServer, toClient }: { toServer: PassThrough; toClient: PassThrough }) {
    this.#toServer = toServer;
    this.#toClient = toClient;
  }

  async start(): Promise<void> {
    let rest = "";
    this.#toClient.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.onmessage?.(JSON.parse(line) as never);
    });
  }

  async send(message: unknown): Promise<void> {
    this.#toServer.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#toServer.end();
    this.onclose?.();
  }
}

export async function connectLegacy(served: ReturnType<typeof serve>, answer?: Answer) {
  const client = new LegacyClient(
    { name: "test", version: "1" },
    { capabilities: answer === undefined ? {} : { elicitation: {} } },
  );
  if (answer !== undefined)
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params.message) as never);
  await client.connect(new StreamTransport(served) as never);
  return client;
}

async function connectModern(served: ReturnType<typeof serve>, answer?: Answer) {
  const client = new ModernClient(
    { name: "test", version: "1" },
    {
      capabilities: answer === undefined ? {} : { elicitation: { form: {} } },
      versionNegotiation: { mode: "auto" },
    },
  );
  if (answer !== undefined)
    client.setRequestHandler("elicitation/create", async ({ params }) => answer(params.message) as never);
  await client.connect(new StreamTransport(served) as never);
  return client;
}

export const CONNECT = { "2025-11-25": connectLegacy, "2026-07-28": connectModern };
export type Era = keyof typeof CONNECT;
export const ERAS: Era[] = ["2025-11-25", "2026-07-28"];

export function progressOptions(era: Era, onprogress: (progress: never) => void): [never?, never?] {
  const options = { onprogress } as never;
  return era === "2025-11-25" ? [undefined as never, options] : [options];
}

export function signalOptions(era: Era, signal: AbortSignal): [never?, never?] {
  const options = { signal } as never;
  return era === "2025-11-25" ? [undefined as never, options] : [options];
}

export interface Message {
  id?: number | string | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: { requestState?: unknown; [member: string]: unknown };
  error?: { code: number; message: string };
}

/** What a client of 2026-07-28 adds to its request when its person has answered the question of an earlier one. */
export const answering = ({ result }: Message, content: object = {}, action = "accept") => ({
  requestState: result?.requestState,
  inputResponses: { approval: { action, content } },
});

/** A client that sends what it is told to, well-formed or not, and keeps what comes back. */
export class RawClient {
  readonly messages: Message[] = [];
  readonly #transport: StreamTransport;
  readonly #toServer: PassThrough;

  constructor(served: { toServer: PassThrough; toClient: PassThrough }) {
    this.#toServer = served.toServer;
    this.#transport = new StreamTransport(served);
    this.#transport.onmessage = (message) => this.messages.push(message);
    void this.#transport.start();
  }

  write(text: string | Uint8Array): void {
    this.#toServer.write(text);
  }

  end(text?: string): void {
    this.#toServer.end(text);
  }

  send(message: object): void {
    void this.#transport.send({ jsonrpc: "2.0", ...message });
  }

  /** Sends a request and waits for its answer. */
  async request(id: number, method: string, params: object = {}): Promise<Message> {
    this.send({ id, method, params });
    return this.answerTo(id);
  }

  async answerTo(id: number): Promise<Message> {
    const find = () => this.messages.find((message) => message.id === id && message.method === undefined);
    await expect.poll(find, { interval: 5 }).toBeDefined();
    return find() as Message;
  }

  async initialize(capabilities: object = {}): Promise<void> {
    const clientInfo = { name: "raw", version: "1" };
    await this.request(0, "initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
    this.send({ method: "notifications/initialized" });
  }

  /** Calls a tool as clients of 2026-07-28 do. */
  async callModern(id: number, params: object, meta: object = {}): Promise<Message> {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
      ...meta,
    };
    return this.request(id, "tools/call", { ...params, _meta });
  }
}
