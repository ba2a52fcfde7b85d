import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

/** A bare MCP client of a server that it starts, over standard streams. */
export interface Served {
  client: Client;
  pid: number;
  /** From the start of the server's process to its answer to `initialize`. */
  startMs: number;
  close(): Promise<void>;
}

export async function serveMcp(
  command: string,
  args: string[],
  { env = process.env, cwd = process.cwd() }: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<Served> {
  const client = new Client({ name: "bench", version: "1" });
  const variables = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const transport = new StdioClientTransport({
    command,
    args,
    env: Object.fromEntries(variables),
    cwd,
    stderr: "ignore",
  });
  const startedAt = performance.now();
  await client.connect(transport);
  const startMs = performance.now() - startedAt;
  return { client, pid: transport.pid ?? 0, startMs, close: () => client.close() };
}

/** Calls a tool, and says how long the answer took. @throws Error when the answer is an error. */
export async function timeCall({ client }: Served, name: string, args: object): Promise<number> {
  const startedAt = performance.now();
  const reply = await client.callTool({ name, arguments: { ...args } });
  const tookMs = performance.now() - startedAt;
  if (reply.isError === true)
    throw new Error(`the benchmark's call of ${name} failed: ${JSON.stringify(reply.content)}`);
  return tookMs;
}
