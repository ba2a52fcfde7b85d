/** Tools of the MCP server "gitlab-ref". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface CreateBranchInput { [k: string]: unknown }

/**
 * Create a new branch in a GitLab project
 * @returns any: this tool declares no output schema
 */
export const createBranch = tool<CreateBranchInput, any>("mcp__gitlab_ref__create_branch");

export interface CreateIssueInput { [k: string]: unknown }

/**
 * Create a new issue in a GitLab project
 * @returns any: this tool declares no output schema
 */
export const createIssue = tool<CreateIssueInput, any>("mcp__gitlab_ref__create_issue");
