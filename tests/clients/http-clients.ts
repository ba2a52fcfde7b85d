import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
  type OAuthClientProvider,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import type { Project, PtcProcess } from "../cli/ptc-process.ts";
import type { Person, Session } from "./sdk-sessions.ts";

/** `ptc serve --http`, as a process that ends with its test. */
export interface Served {
  readonly url: URL;
  readonly process: PtcProcess;
}

/** Starts `ptc serve --http` on a free port of this machine. */
export async function serveHttp(
  project: Project,
  { env = {}, address = "127.0.0.1:0" }: { env?: Record<string, string | undefined>; address?: string } = {},
): Promise<Served> {
  const process = project.start(["serve", "--http", address], { env });
  onTestFinished(async () => {
    process.kill("SIGKILL");
    await process.exited;
  });
  const [, url = ""] = await process.printed(/serving MCP at (\S+)/);
  return { url: new URL(url), process };
}

interface Given {
  headers?: Record<string, string>;
  authProvider?: OAuthClientProvider;
  person?: Person;
  /** How the client of SDK 1.x sends its requests. */
  fetch?: typeof fetch;
}

export type ConnectHttp = (url: URL, given?: Given) => Promise<Omit<Session, "pid">>;

const IDENTITY = { name: "ptc-tests", version: "1.0.0" };
const NOBODY: Person = () => {
  throw new Error("nobody is to be asked");
};

/** The client of SDK 1.x over HTTP, which speaks 2025-11-25 and has a session. */
export const connectSessions: ConnectHttp = async (
  url,
  { headers = {}, person = NOBODY, fetch: send = fetch } = {},
) => {
  const client = new Client(IDENTITY, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => person(params.message));
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers }, fetch: send });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  onTestFinished(() => client.close());
  return {
    protocolVersion: transport.protocolVersion,
    instructions: client.getInstructions(),
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args, { onProgress, signal } = {}) =>
      client.callTool({ name, arguments: args }, undefined, {
        ...(onProgress && { onprogress: onProgress }),
        ...(signal && { signal }),
      }),
    close: () => client.close(),
  };
};

/** The client of SDK 2.x over HTTP, which asks for 2026-07-28 and has no session. */
export const connectStateless: ConnectHttp = async (
  url,
  { headers = {}, authProvider, person = NOBODY } = {},
) => {
  const client = new ModernClient(IDENTITY, {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: "auto" },
  });
  client.setRequestHandler("elicitation/create", async ({ params }) => person(params.message));
  await client.connect(
    new ModernHttp(url, { requestInit: { headers }, ...(authProvider && { authProvider }) }),
  );
  onTestFinished(() => client.close());
  return {
    protocolVersion: client.getNegotiatedProtocolVersion(),
    instructions: client.getInstructions(),
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args, { onProgress, signal } = {}) =>
      client.callTool(
        { name, arguments: args },
        { ...(onProgress && { onprogress: onProgress }), ...(signal && { signal }) },
      ),
    close: () => client.close(),
  };
};
