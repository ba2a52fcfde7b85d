/** Tools of the MCP server "firecrawl". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface FirecrawlMonitorGetInput {
  id: string;
}

/** One monitor record. */
export interface FirecrawlMonitorGetOutput {
  /** Optional response guidance from the Firecrawl API. */
  agent_hints?: string[];
  /** Whether the API call succeeded. */
  success?: boolean | null;
  /** Error message or error object when the call did not succeed. */
  error?: any;
  /** The monitor record: configuration, schedule, targets, and current state. */
  data?: any;
}

/** Retrieve one monitor by ID, including its configuration and current state. This does not run or modify the monitor. */
export const firecrawlMonitorGet = tool<FirecrawlMonitorGetInput, FirecrawlMonitorGetOutput>("mcp__firecrawl__firecrawl_monitor_get");
