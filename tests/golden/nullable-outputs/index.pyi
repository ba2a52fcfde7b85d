"""Tools of the MCP server "firecrawl". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, NotRequired, TypedDict, overload

class FirecrawlMonitorGetOutput(TypedDict):
    """One monitor record."""
    agent_hints: NotRequired[list[str]]
    """Optional response guidance from the Firecrawl API."""
    success: NotRequired[bool | None]
    """Whether the API call succeeded."""
    error: NotRequired[Any]
    """Error message or error object when the call did not succeed."""
    data: NotRequired[Any]
    """The monitor record: configuration, schedule, targets, and current state."""

class FirecrawlMonitorGetInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    id: str

# ptc {"tool": "mcp__firecrawl__firecrawl_monitor_get", "input": "FirecrawlMonitorGetInput"}
@overload
@_either_way
async def firecrawl_monitor_get(
    *,
    id: str,
) -> FirecrawlMonitorGetOutput:
    """Retrieve one monitor by ID, including its configuration and current state. This does not run or modify the monitor."""
@overload
@_either_way
async def firecrawl_monitor_get(arguments: FirecrawlMonitorGetInput, /) -> FirecrawlMonitorGetOutput: ...
