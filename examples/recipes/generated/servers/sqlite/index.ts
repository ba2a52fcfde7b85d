/**
 * A database
 * Tools of the MCP server "sqlite". Written by `ptc generate`: edits are lost.
 */

import { tool } from "../../runtime.js";

export interface ExecuteQueryInput {
  /** The SQL query to execute */
  query: string;
}

/**
 * Execute a SQLite query that can read or write data
 * @returns any: this tool declares no output schema
 */
export const executeQuery = tool<ExecuteQueryInput, any>("mcp__sqlite__executeQuery");

export interface ExecuteSafeQueryInput {
  /** The SQL query to execute */
  query: string;
}

/**
 * Execute a SQLite query that can only read data
 * @returns any: this tool declares no output schema
 */
export const executeSafeQuery = tool<ExecuteSafeQueryInput, any>("mcp__sqlite__executeSafeQuery");
