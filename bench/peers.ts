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

/** Calls a tool and returns how long the answer took. @throws Error if the answer is an error. */
export async function timeCall({ client }: Served, name: string, args: object): Promise<number> {
  const startedAt = performance.now();
  const reply = await client.callTool({ name, arguments: { ...args } });
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
