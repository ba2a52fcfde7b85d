/** Tools of the MCP server "programs". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface OpenTasksInput {
  folder: string;
}

export interface OpenTasksOutput {
  count: number;
  tasks: string[];
}

/** All tasks in a folder of notes */
export const openTasks = tool<OpenTasksInput, OpenTasksOutput>("mcp__programs__open_tasks");
