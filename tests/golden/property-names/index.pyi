"""Tools of the MCP server "mongodb". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, TypedDict, overload

class DbStatsOutput(TypedDict):
    stats: dict[str, Any]

class DbStatsInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    connectionId: str
    database: str

# ptc {"tool": "mcp__mongodb__db-stats", "input": "DbStatsInput"}
@overload
@_either_way
async def db_stats(
    *,
    connectionId: str,
    database: str,
) -> DbStatsOutput:
    """Returns statistics that reflect the use state of a single database

    Args:
        connectionId: The connection to run the operation against. Use the id returned by one of the connect tools, or "preconfigured" to use the connection string the server was configured with.
        database: Database name
    """
@overload
@_either_way
async def db_stats(arguments: DbStatsInput, /) -> DbStatsOutput: ...
