"""Tools of the MCP server "gitlab-zereight". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict, overload

class CreateLabelInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    project_id: str
    name: str
    color: str
    description: NotRequired[str]
    priority: NotRequired[float | None]

# ptc {"tool": "mcp__gitlab_zereight__create_label", "input": "CreateLabelInput"}
@overload
@_either_way
async def create_label(
    *,
    project_id: str,
    name: str,
    color: str,
    description: str = ...,
    priority: float | None = ...,
) -> Any:
    """Create a new label in a project. Use this for a new resource or action; choose the corresponding update or edit tool when the resource already exists. It changes remote GitLab state and requires the necessary project or group permission; GitLab returns validation, conflict, permission, or rate-limit errors instead of silently applying an invalid request. When `project_id` or `group_id` is accepted, provide the numeric ID or complete URL-encoded path described by the schema; use required identifiers and pagination fields exactly as documented.

    Args:
        project_id: Project ID or URL-encoded path
        name: The name of the label
        color: The color of the label given in 6-digit hex notation with leading '#' sign
        description: The description of the label
        priority: The priority of the label
    """
@overload
@_either_way
async def create_label(arguments: CreateLabelInput, /) -> Any: ...

class CreateMergeRequestInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    project_id: str
    title: str
    description: NotRequired[str]
    source_branch: str
    target_branch: str
    target_project_id: NotRequired[str]
    assignee_ids: NotRequired[Sequence[float]]
    reviewer_ids: NotRequired[Sequence[float]]
    labels: NotRequired[list[str]]
    draft: NotRequired[bool]
    allow_collaboration: NotRequired[bool]
    remove_source_branch: NotRequired[bool | None]
    squash: NotRequired[bool | None]

# ptc {"tool": "mcp__gitlab_zereight__create_merge_request", "input": "CreateMergeRequestInput"}
@overload
@_either_way
async def create_merge_request(
    *,
    project_id: str,
    title: str,
    source_branch: str,
    target_branch: str,
    description: str = ...,
    target_project_id: str = ...,
    assignee_ids: Sequence[float] = ...,
    reviewer_ids: Sequence[float] = ...,
    labels: list[str] = ...,
    draft: bool = ...,
    allow_collaboration: bool = ...,
    remove_source_branch: bool | None = ...,
    squash: bool | None = ...,
) -> Any:
    """Create a new merge request. Use this to open a new merge request from an existing source branch to a target branch; use `update_merge_request` after it exists. The operation creates remote review state, requires project access, and returns the new merge request or a validation, permission, branch, or duplicate-related error.

    Args:
        project_id: Project ID or complete URL-encoded path to project
        title: Merge request title
        description: Merge request description
        source_branch: Branch containing changes
        target_branch: Branch to merge into
        target_project_id: Numeric ID of the target project.
        assignee_ids: The ID of the users to assign the MR to
        reviewer_ids: The ID of the users to assign as reviewers of the MR
        labels: Labels for the MR
        draft: Create as draft merge request
        allow_collaboration: Allow commits from upstream members
        remove_source_branch: Flag indicating if a merge request should remove the source branch when merging.
        squash: If true, squash all commits into a single commit on merge.
    """
@overload
@_either_way
async def create_merge_request(arguments: CreateMergeRequestInput, /) -> Any: ...

class TriggerPipelineInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    project_id: str
    token: str
    ref: str
    variables: NotRequired[Mapping[str, Any]]
    inputs: NotRequired[Mapping[str, Any]]

# ptc {"tool": "mcp__gitlab_zereight__trigger_pipeline", "input": "TriggerPipelineInput"}
@overload
@_either_way
async def trigger_pipeline(
    *,
    project_id: str,
    token: str,
    ref: str,
    variables: Mapping[str, Any] = ...,
    inputs: Mapping[str, Any] = ...,
) -> Any:
    """Trigger a pipeline with a pipeline trigger token. Use this for the specific operation described; choose a sibling tool when you need a different resource or lifecycle action. It changes remote GitLab state and requires the necessary project or group permission; GitLab returns validation, conflict, permission, or rate-limit errors instead of silently applying an invalid request. When `project_id` or `group_id` is accepted, provide the numeric ID or complete URL-encoded path described by the schema; use required identifiers and pagination fields exactly as documented.

    Args:
        inputs: Structured pipeline inputs; supported from GitLab 17.10 behind a feature flag and generally available from GitLab 18.1. Omit on older GitLab versions.
    """
@overload
@_either_way
async def trigger_pipeline(arguments: TriggerPipelineInput, /) -> Any: ...
