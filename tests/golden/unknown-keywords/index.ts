/** Tools of the MCP server "linear". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface LinearCreateIssueInput {
  /** Issue title */
  title: string;
  /** Issue description */
  description: string;
  /** Team ID */
  teamId: string;
  /** Assignee user ID */
  assigneeId?: string;
  /** Issue priority (0-4) */
  priority?: number;
  /** Name to display for the created issue */
  createAsUser?: string;
  /** URL of the avatar to display */
  displayIconUrl?: string;
}

/**
 * Create a new issue in Linear
 * @returns any: this tool declares no output schema
 */
export const linearCreateIssue = tool<LinearCreateIssueInput, any>("mcp__linear__linear_create_issue");
