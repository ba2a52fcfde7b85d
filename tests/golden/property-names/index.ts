/** Tools of the MCP server "mongodb". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface DbStatsInput {
  /** The connection to run the operation against. Use the id returned by one of the connect tools, or "preconfigured" to use the connection string the server was configured with. */
  connectionId: string;
  /** Database name */
  database: string;
}

export interface DbStatsOutput {
  stats: { [k: string]: any };
}

/** Returns statistics that reflect the use state of a single database */
export const dbStats = tool<DbStatsInput, DbStatsOutput>("mcp__mongodb__db-stats");
