import { listUpTo } from "./tool-definitions.ts";

const MAX_SERVERS_CHARS = 170;

const BEFORE = `ptc runs one short program that calls many MCP tools, and returns only what the program prints.

Use it when a task takes several tool calls, a loop, a condition on results, or results too large to read. Do not use it for what your own tools do (files, shell), nor for a single call of a tool that you have directly.

1. search_tools finds tools, inspect_tool shows a signature.
2. execute_program runs, for example:

import * as github from "./servers/github/index.js";
const issues = await github.listIssues({ owner: "o", repo: "r" });
const details = await parallel(issues.map((i) => () => github.getIssue({ owner: "o", repo: "r", number: i.number })), { limit: 5 });
console.log(details.filter((d) => d.comments > 10).map((d) => d.title));

Functions are the tools' names in camelCase. A failed call throws ToolError. Types are checked first: a message names the wrong argument. Tools without an output schema return any: print a small sample before relying on its shape.`;

/**
 * What a client puts before its model once: at most 2,000 characters, whatever servers there are.
 *
 * @param servers modules of all servers in the configuration.
 */
export function buildInstructions(servers: readonly string[]): string {
  if (servers.length === 0) return `${BEFORE}\n\nNo servers are configured.`;
  return `${BEFORE}\n\nServers: ${listUpTo(servers, MAX_SERVERS_CHARS)}`;
}
