"""Tools of the MCP server "n8n". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, Literal, NotRequired, TypedDict, overload

class N8nWorkflowVersionsInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    mode: NotRequired[Literal["list", "get", "rollback", "delete", "prune", "diff"]]
    source: NotRequired[Literal["local", "native"]]
    workflowId: NotRequired[str]
    versionId: NotRequired[Any]
    toVersionId: NotRequired[Any]
    limit: NotRequired[float]
    offset: NotRequired[float]
    validateBefore: NotRequired[bool]
    deleteAll: NotRequired[bool]
    maxVersions: NotRequired[float]
    exposeToMcp: NotRequired[bool]
    timeoutMs: NotRequired[int]

# ptc {"tool": "mcp__n8n__n8n_workflow_versions", "input": "N8nWorkflowVersionsInput"}
@overload
@_either_way
async def n8n_workflow_versions(
    *,
    mode: Literal["list", "get", "rollback", "delete", "prune", "diff"] = ...,
    source: Literal["local", "native"] = ...,
    workflowId: str = ...,
    versionId: Any = ...,
    toVersionId: Any = ...,
    limit: float = ...,
    offset: float = ...,
    validateBefore: bool = ...,
    deleteAll: bool = ...,
    maxVersions: float = ...,
    exposeToMcp: bool = ...,
    timeoutMs: int = ...,
) -> Any:
    """Manage workflow version history, rollback, comparison, and cleanup. Six modes:
    - list: Show version history for a workflow
    - get: Get details of a specific version
    - rollback: Restore workflow to a previous version (creates backup first)
    - diff: Compare two versions
    - delete: Delete specific version or all versions for a workflow
    - prune: Manually trigger pruning to keep N most recent versions

    Two sources:
    - source: 'local' (default) - snapshots n8n-mcp takes before it changes a workflow. Scoped to your n8n instance, works on any n8n version, and covers only changes made through n8n-mcp. Old backups are pruned automatically (10 most recent per workflow, plus an age-based retention window).
    - source: 'native' - n8n's own workflow history, the same list the n8n UI shows, including edits made by people in the UI. Needs an n8n MCP access token and the workflow's "Available in MCP" setting; supports list, get, rollback and diff only. Native rollback is not pre-validated.

    Args:
        mode: Operation mode (default: list)
        source: Which history to read: 'local' (n8n-mcp snapshots, default) or 'native' (n8n's own version history). delete and prune are local-only.
        workflowId: Workflow ID (required for list, rollback, delete, prune, diff; required for every native mode)
        versionId: Version ID. local: numeric snapshot id (number or numeric string); native: n8n's version id string. Required for get and diff, for a single-version delete, and for native rollback; optional for local rollback.
        toVersionId: The second version to compare against in diff mode (same id format as versionId)
        limit: Max versions to return in list mode (native: capped at 50)
            Default: 10
        offset: Skip this many versions in native list mode
        validateBefore: Validate workflow structure before rollback (local only; accepted and ignored for native)
            Default: true
        deleteAll: Delete all versions for workflow (delete mode only)
            Default: false
        maxVersions: Keep N most recent versions (prune mode only)
            Default: 10
        exposeToMcp: Native only. When n8n refuses the workflow because it is not available in MCP, enable that setting on the workflow and retry once. This is a visible, persistent workflow setting - confirm with the user first.
        timeoutMs: Client deadline for the native call (default 30000)
    """
@overload
@_either_way
async def n8n_workflow_versions(arguments: N8nWorkflowVersionsInput, /) -> Any: ...
