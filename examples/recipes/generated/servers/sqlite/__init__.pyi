"""A database
Tools of the MCP server "sqlite". Written by `ptc generate`: edits are lost.
"""

from servers import either_way_ as _either_way

from typing import Any, TypedDict, overload

class ExecuteQueryInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    query: str

# ptc {"tool": "mcp__sqlite__executeQuery", "input": "ExecuteQueryInput"}
@overload
@_either_way
async def executeQuery(
    *,
    query: str,
) -> Any:
    """Execute a SQLite query that can read or write data

    Args:
        query: The SQL query to execute
    """
@overload
@_either_way
async def executeQuery(arguments: ExecuteQueryInput, /) -> Any: ...

class ExecuteSafeQueryInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    query: str

# ptc {"tool": "mcp__sqlite__executeSafeQuery", "input": "ExecuteSafeQueryInput"}
@overload
@_either_way
async def executeSafeQuery(
    *,
    query: str,
) -> Any:
    """Execute a SQLite query that can only read data

    Args:
        query: The SQL query to execute
    """
@overload
@_either_way
async def executeSafeQuery(arguments: ExecuteSafeQueryInput, /) -> Any: ...
