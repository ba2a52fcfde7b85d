/** ptc as an MCP server of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`). */
import type { McpSdkServerConfigWithInstance } from "@anthropic-ai/claude-agent-sdk";
import type { CallOptions, Ptc } from "../api.ts";
import { mcpServer } from "./mcp.ts";

/**
 * ptc for `query({ options: { mcpServers: { ptc: ptcServer(ptc) }, allowedTools: ["mcp__ptc"] } })`. It runs in this process. What
 * aborts a query cancels its programs.
 *
 * @param options for whom, and who is asked. What is left out is as `createPtc` was given it.
 */
export function ptcServer(
  ptc: Ptc,
  options: Pick<CallOptions, "principal" | "approve"> = {},
): McpSdkServerConfigWithInstance {
  return { type: "sdk", name: "ptc", instance: mcpServer(ptc, options) as never };
}
