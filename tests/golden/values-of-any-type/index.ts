/** Tools of the MCP server "n8n". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface N8nWorkflowVersionsInput {
  /** Operation mode (default: list) */
  mode?: "list" | "get" | "rollback" | "delete" | "prune" | "diff";
  /** Which history to read: 'local' (n8n-mcp snapshots, default) or 'native' (n8n's own version history). delete and prune are local-only. */
  source?: "local" | "native";
  /** Workflow ID (required for list, rollback, delete, prune, diff; required for every native mode) */
  workflowId?: string;
  /** Version ID. local: numeric snapshot id (number or numeric string); native: n8n's version id string. Required for get and diff, for a single-version delete, and for native rollback; optional for local rollback. */
  versionId?: unknown;
  /** The second version to compare against in diff mode (same id format as versionId) */
  toVersionId?: unknown;
  /**
   * Max versions to return in list mode (native: capped at 50)
   * @default 10
   */
  limit?: number;
  /** Skip this many versions in native list mode */
  offset?: number;
  /**
   * Validate workflow structure before rollback (local only; accepted and ignored for native)
   * @default true
   */
  validateBefore?: boolean;
  /**
   * Delete all versions for workflow (delete mode only)
   * @default false
   */
  deleteAll?: boolean;
  /**
   * Keep N most recent versions (prune mode only)
   * @default 10
   */
  maxVersions?: number;
  /** Native only. When n8n refuses the workflow because it is not available in MCP, enable that setting on the workflow and retry once. This is a visible, persistent workflow setting - confirm with the user first. */
  exposeToMcp?: boolean;
  /** Client deadline for the native call (default 30000) */
  timeoutMs?: number;
}

/**
 * Manage workflow version history, rollback, comparison, and cleanup. Six modes:
 * - list: Show version history for a workflow
 * - get: Get details of a specific version
 * - rollback: Restore workflow to a previous version (creates backup first)
 * - diff: Compare two versions
 * - delete: Delete specific version or all versions for a workflow
 * - prune: Manually trigger pruning to keep N most recent versions
 *
 * Two sources:
 * - source: 'local' (default) - snapshots n8n-mcp takes before it changes a workflow. Scoped to your n8n instance, works on any n8n version, and covers only changes made through n8n-mcp. Old backups are pruned automatically (10 most recent per workflow, plus an age-based retention window).
 * - source: 'native' - n8n's own workflow history, the same list the n8n UI shows, including edits made by people in the UI. Needs an n8n MCP access token and the workflow's "Available in MCP" setting; supports list, get, rollback and diff only. Native rollback is not pre-validated.
 * @returns any: this tool declares no output schema
 */
export const n8nWorkflowVersions = tool<N8nWorkflowVersionsInput, any>("mcp__n8n__n8n_workflow_versions");
