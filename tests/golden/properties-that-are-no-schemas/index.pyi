"""Tools of the MCP server "asana". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, NotRequired, TypedDict, overload

class AsanaSetParentForTaskInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    data: Any
    task_id: str
    opts: NotRequired[Any]

# ptc {"tool": "mcp__asana__asana_set_parent_for_task", "input": "AsanaSetParentForTaskInput"}
@overload
@_either_way
async def asana_set_parent_for_task(
    *,
    data: Any,
    task_id: str,
    opts: Any = ...,
) -> Any:
    """Set the parent of a task and position the subtask within the other subtasks of that parent

    Args:
        task_id: The task ID to operate on
    """
@overload
@_either_way
async def asana_set_parent_for_task(arguments: AsanaSetParentForTaskInput, /) -> Any: ...
