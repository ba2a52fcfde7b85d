/** Tools of the MCP server "asana". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface AsanaSetParentForTaskInput {
  data: unknown;
  /** The task ID to operate on */
  task_id: string;
  opts?: unknown;
}

/**
 * Set the parent of a task and position the subtask within the other subtasks of that parent
 * @returns any: this tool declares no output schema
 */
export const asanaSetParentForTask = tool<AsanaSetParentForTaskInput, any>("mcp__asana__asana_set_parent_for_task");
