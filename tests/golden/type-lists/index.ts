/** Tools of the MCP server "gitlab-zereight". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface CreateLabelInput {
  /** Project ID or URL-encoded path */
  project_id: string;
  /** The name of the label */
  name: string;
  /** The color of the label given in 6-digit hex notation with leading '#' sign */
  color: string;
  /** The description of the label */
  description?: string;
  /** The priority of the label */
  priority?: number | null;
}

/**
 * Create a new label in a project. Use this for a new resource or action; choose the corresponding update or edit tool when the resource already exists. It changes remote GitLab state and requires the necessary project or group permission; GitLab returns validation, conflict, permission, or rate-limit errors instead of silently applying an invalid request. When `project_id` or `group_id` is accepted, provide the numeric ID or complete URL-encoded path described by the schema; use required identifiers and pagination fields exactly as documented.
 * @returns any: this tool declares no output schema
 */
export const createLabel = tool<CreateLabelInput, any>("mcp__gitlab_zereight__create_label");

export interface CreateMergeRequestInput {
  /** Project ID or complete URL-encoded path to project */
  project_id: string;
  /** Merge request title */
  title: string;
  /** Merge request description */
  description?: string;
  /** Branch containing changes */
  source_branch: string;
  /** Branch to merge into */
  target_branch: string;
  /** Numeric ID of the target project. */
  target_project_id?: string;
  /** The ID of the users to assign the MR to */
  assignee_ids?: number[];
  /** The ID of the users to assign as reviewers of the MR */
  reviewer_ids?: number[];
  /** Labels for the MR */
  labels?: string[];
  /** Create as draft merge request */
  draft?: boolean;
  /** Allow commits from upstream members */
  allow_collaboration?: boolean;
  /** Flag indicating if a merge request should remove the source branch when merging. */
  remove_source_branch?: boolean | null;
  /** If true, squash all commits into a single commit on merge. */
  squash?: boolean | null;
}

/**
 * Create a new merge request. Use this to open a new merge request from an existing source branch to a target branch; use `update_merge_request` after it exists. The operation creates remote review state, requires project access, and returns the new merge request or a validation, permission, branch, or duplicate-related error.
 * @returns any: this tool declares no output schema
 */
export const createMergeRequest = tool<CreateMergeRequestInput, any>("mcp__gitlab_zereight__create_merge_request");

export interface TriggerPipelineInput {
  project_id: string;
  token: string;
  ref: string;
  variables?: { [k: string]: unknown };
  /** Structured pipeline inputs; supported from GitLab 17.10 behind a feature flag and generally available from GitLab 18.1. Omit on older GitLab versions. */
  inputs?: { [k: string]: unknown };
}

/**
 * Trigger a pipeline with a pipeline trigger token. Use this for the specific operation described; choose a sibling tool when you need a different resource or lifecycle action. It changes remote GitLab state and requires the necessary project or group permission; GitLab returns validation, conflict, permission, or rate-limit errors instead of silently applying an invalid request. When `project_id` or `group_id` is accepted, provide the numeric ID or complete URL-encoded path described by the schema; use required identifiers and pagination fields exactly as documented.
 * @returns any: this tool declares no output schema
 */
export const triggerPipeline = tool<TriggerPipelineInput, any>("mcp__gitlab_zereight__trigger_pipeline");
