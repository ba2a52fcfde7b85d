"""Tools of the MCP server "asana". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, NotRequired, TypedDict, overload

class AsanaGetMultipleTasksByGidInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    task_ids: list[str] | str
    opt_fields: NotRequired[str]

# ptc {"tool": "mcp__asana__asana_get_multiple_tasks_by_gid", "input": "AsanaGetMultipleTasksByGidInput"}
@overload
@_either_way
async def asana_get_multiple_tasks_by_gid(
    *,
    task_ids: list[str] | str,
    opt_fields: str = ...,
) -> Any:
    """Get detailed information about multiple tasks by their GIDs (maximum 25 tasks)

    Args:
        task_ids: Array or comma-separated string of task GIDs to retrieve (max 25)
            Comma-separated list of task GIDs (max 25)
        opt_fields: Comma-separated list of optional fields to include
    """
@overload
@_either_way
async def asana_get_multiple_tasks_by_gid(arguments: AsanaGetMultipleTasksByGidInput, /) -> Any: ...
