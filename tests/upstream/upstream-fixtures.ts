import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { type ConnectOptions, connectMcpServer } from "../../upstream/mcp/connect-mcp-server.ts";
import type { McpServerTarget } from "../../upstream/mcp/mcp-server-target.ts";
import type { UpstreamCall, UpstreamConnection } from "../../upstream/upstream.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";

const FOLDER = fileURLToPath(new URL("../fixtures/servers/", import.meta.url));

type StdioTarget = Extract<McpServerTarget, { transport: "stdio" }>;

/** A fixture program as a configured server. */
export function fixture(file: string, overrides: Partial<StdioTarget> = {}): StdioTarget {
  return {
    name: "x",
    transport: "stdio",
    command: process.execPath,
    args: [FOLDER + file],
    env: {},
    cwd: FOLDER,
    ...overrides,
  };
}

/** Connects, and disconnects when the test is over. */
export async function connect(
  target: McpServerTarget,
  options: Partial<ConnectOptions> = {},
): Promise<UpstreamConnection> {
  const connection = await connectMcpServer(target, { clientVersion: "0.0.0", ...options });
  onTestFinished(() => connection.close());
  return connection;
}

/** A call of a tool, with time enough. */
export function toolCall(
  tool: string,
  args: unknown = {},
  options: Partial<Omit<UpstreamCall, "tool" | "arguments">> = {},
): UpstreamCall {
  return { tool, arguments: args, timeoutMs: 20_000, signal: new AbortController().signal, ...options };
}

export async function upstreamErrorOf(promise: Promise<unknown>): Promise<UpstreamError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof UpstreamError)) throw new Error("no UpstreamError was thrown", { cause: error });
  return error;
}

/** The JSON value in the text of a tool result. */
export function jsonOf(result: unknown): unknown {
  const { content } = result as { content: { text: string }[] };
  return JSON.parse(content[0]?.text ?? "null");
}

/** Whether a process still runs. One that has ended but was not waited for, as by some containers' first process, does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/^\d+ \(.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
