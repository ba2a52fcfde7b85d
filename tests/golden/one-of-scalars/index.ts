/** Tools of the MCP server "asana". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface AsanaGetMultipleTasksByGidInput {
  /**
   * Array or comma-separated string of task GIDs to retrieve (max 25)
   * Comma-separated list of task GIDs (max 25)
   */
  task_ids: string[] | string;
  /** Comma-separated list of optional fields to include */
  opt_fields?: string;
}

/**
 * Get detailed information about multiple tasks by their GIDs (maximum 25 tasks)
 * @returns any: this tool declares no output schema
 */
export const asanaGetMultipleTasksByGid = tool<AsanaGetMultipleTasksByGidInput, any>("mcp__asana__asana_get_multiple_tasks_by_gid");
