import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ServeCommand } from "./served-project.ts";

/** A call of one of ptc's tools. */
interface ToolCall {
  onProgress?: (update: { progress: number; message?: string | undefined }) => void;
  signal?: AbortSignal;
}

/** What the tests do with the client of either generation of the SDK. */
export interface Session {
  protocolVersion: string | undefined;
  instructions: string | undefined;
  pid: number;
  listTools(): Promise<string[]>;
  call(tool: string, args: Record<string, unknown>, options?: ToolCall): Promise<unknown>;
  close(): Promise<void>;
}

/** Stands for the person in front of the client: is shown a question and chooses. */
type PersonsAnswer = { action: "accept"; content: { decision: string } };
export type Person = (question: string) => PersonsAnswer | Promise<PersonsAnswer>;

export type Connect = (serve: ServeCommand, person: Person) => Promise<Session>;

const IDENTITY = { name: "ptc-tests", version: "1.0.0" };

/** The client of SDK 1.x, which speaks 2025-11-25. */
export const connectFirstGeneration: Connect = async (serve, person) => {
  const client = new Client(IDENTITY, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => person(params.message));
  const transport = new StdioClientTransport({ ...serve, stderr: "ignore" });
  let protocolVersion: string | undefined;
  const setProtocolVersion = (version: string) => {
    protocolVersion = version;
  };
  await client.connect(Object.assign(transport, { setProtocolVersion }));
  return {
    protocolVersion,
    instructions: client.getInstructions(),
    pid: transport.pid ?? 0,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args, options = {}) =>
      client.callTool({ name, arguments: args }, undefined, requestOptions(options)),
    close: () => client.close(),
  };
};

/** The client of SDK 2.x, which asks for 2026-07-28 first. */
export const connectSecondGeneration: Connect = async (serve, person) => {
  const client = new ModernClient(IDENTITY, {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: "auto" },
  });
  client.setRequestHandler("elicitation/create", async ({ params }) => person(params.message));
  const transport = new ModernStdio({ ...serve, stderr: "ignore" });
  await client.connect(transport);
  return {
    protocolVersion: client.getNegotiatedProtocolVersion(),
    instructions: client.getInstructions(),
    pid: transport.pid ?? 0,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args, options = {}) => client.callTool({ name, arguments: args }, requestOptions(options)),
    close: () => client.close(),
  };
};

function requestOptions({ onProgress, signal }: ToolCall) {
  return {
    ...(onProgress === undefined ? {} : { onprogress: onProgress }),
    ...(signal === undefined ? {} : { signal }),
  };
}
