"""Tools of the MCP server "linear". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, NotRequired, TypedDict, overload

class LinearCreateIssueInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    title: str
    description: str
    teamId: str
    assigneeId: NotRequired[str]
    priority: NotRequired[float]
    createAsUser: NotRequired[str]
    displayIconUrl: NotRequired[str]

# ptc {"tool": "mcp__linear__linear_create_issue", "input": "LinearCreateIssueInput"}
@overload
@_either_way
async def linear_create_issue(
    *,
    title: str,
    description: str,
    teamId: str,
    assigneeId: str = ...,
    priority: float = ...,
    createAsUser: str = ...,
    displayIconUrl: str = ...,
) -> Any:
    """Create a new issue in Linear

    Args:
        title: Issue title
        description: Issue description
        teamId: Team ID
        assigneeId: Assignee user ID
        priority: Issue priority (0-4)
        createAsUser: Name to display for the created issue
        displayIconUrl: URL of the avatar to display
    """
@overload
@_either_way
async def linear_create_issue(arguments: LinearCreateIssueInput, /) -> Any: ...
