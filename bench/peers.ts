import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

/** A bare MCP client of a server that it starts, over stdio. */
export interface Served {
  client: Client;
  pid: number;
  /** The time from starting the server's process to its answer to `initialize`. */
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

/** The longest that an answer is waited for: some peers start a process for each call. */
const PATIENCE = { timeout: 300_000 };

/** Calls a tool and returns how long the answer took. @throws Error if the answer is an error. */
export async function timeCall({ client }: Served, name: string, args: object): Promise<number> {
  const startedAt = performance.now();
  const reply = await client.callTool({ name, arguments: { ...args } }, undefined, PATIENCE);
  const tookMs = performance.now() - startedAt;
  if (reply.isError === true)
    throw new Error(`the benchmark's call of ${name} failed: ${JSON.stringify(reply.content)}`);
  return tookMs;
}

/** The command being measured, as built by `npm run build`. */
export const PTC = join(import.meta.dirname, "../dist/cli/ptc.js");

/** The server that programs and bare clients call. */
export const ECHO_SERVER = join(import.meta.dirname, "../tests/fixtures/servers/echo-v2.mjs");

export interface BenchServer {
  name: string;
  command: string;
  args: string[];
}

/** The servers of a project that names no others. */
export const BENCH_SERVERS: readonly BenchServer[] = [
  { name: "echo", command: process.execPath, args: [ECHO_SERVER] },
];

/** Creates a project with a configuration and generated modules. */
export function makeProject(
  folder: string,
  settings: object = {},
  servers: readonly BenchServer[] = BENCH_SERVERS,
): string {
  mkdirSync(folder, { recursive: true });
  // JSON is also YAML.
  writeFileSync(join(folder, "ptc.yaml"), JSON.stringify({ servers, ...settings }));
  const { status, stderr } = spawnSync(process.execPath, [PTC, "generate"], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`ptc generate failed: ${stderr}`);
  return folder;
}

/** `ptc serve` in a project. */
export function servePtc(project: string): Promise<Served> {
  return serveMcp(process.execPath, [PTC, "serve"], { cwd: project });
}

/** Times a program. @param language required if more than one is on. */
export function runProgram(ptc: Served, code: string, language?: string): Promise<number> {
  return timeCall(ptc, "execute_program", { code, ...(language !== undefined && { language }) });
}

const EXECUTOR = join(import.meta.dirname, "node_modules/.bin/executor");

/** `executor mcp`, which runs programs in its own process without isolation; `undefined` if it is not installed. */
export async function serveExecutor(scope: string): Promise<Served | undefined> {
  if (!existsSync(EXECUTOR)) return undefined;
  const home = join(scope, "home");
  mkdirSync(home, { recursive: true });
  return serveMcp(EXECUTOR, ["mcp", "--scope", scope], { env: { ...process.env, HOME: home }, cwd: scope });
}

/** Makes a server known to executor, whose programs then call `tools.<server>.user.<server>.<tool>`. @throws Error if it does not work. */
export async function addToExecutor({ client }: Served, { name, command, args }: BenchServer): Promise<void> {
  const server = { transport: "stdio", slug: name, name, command, args };
  // It asks for a credential's place even where there is none.
  const connection = { owner: "user", name, integration: name, template: "none" };
  const code = `
    const added = await tools.executor.mcp.addServer(${JSON.stringify(server)});
    const { data } = await tools.executor.coreTools.providers.list({});
    const from = { provider: data.providers[0], id: "none" };
    const connected = await tools.executor.coreTools.connections.create({ ...${JSON.stringify(connection)}, from });
    return added.ok && connected.ok;`;
  let reply = await client.callTool({ name: "execute", arguments: { code } });
  // Each of both is asked for.
  for (let question = 0; question < 2; question++) {
    const { executionId } = reply.structuredContent as { executionId?: string };
    if (executionId === undefined) break;
    const answer = { executionId, action: "accept", content: "{}" };
    reply = await client.callTool({ name: "resume", arguments: answer });
  }
  const { result } = reply.structuredContent as { result?: unknown };
  if (result !== true) throw new Error(`executor does not take a server: ${JSON.stringify(reply)}`);
}
