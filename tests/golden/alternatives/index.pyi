"""Tools of the MCP server "mongodb". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict, overload

class AtlasListClustersOutput(TypedDict):
    projectId: NotRequired[str]
    projectName: NotRequired[str]
    clusters: list[AtlasListClustersOutputClusters | AtlasListClustersOutputClusters_db3aaf0b]
    totalCount: float

class AtlasListClustersOutputClusters(TypedDict):
    clusterName: NotRequired[str]
    projectId: NotRequired[str]
    projectName: NotRequired[str]

class AtlasListClustersOutputClusters_db3aaf0b(TypedDict):
    name: NotRequired[str]
    clusterId: NotRequired[str]
    instanceType: Literal["FREE", "DEDICATED", "FLEX"]
    instanceSize: NotRequired[str]
    provider: NotRequired[str]
    region: NotRequired[str]
    paused: bool
    state: NotRequired[Literal["IDLE", "CREATING", "UPDATING", "DELETING", "REPAIRING"]]
    mongoDBVersion: NotRequired[str]
    connectionStrings: NotRequired[dict[str, Any]]
    processIds: NotRequired[list[str]]

class AtlasListClustersInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    projectId: NotRequired[str]

# ptc {"tool": "mcp__mongodb__atlas-list-clusters", "input": "AtlasListClustersInput"}
@overload
@_either_way
async def atlas_list_clusters(
    *,
    projectId: str = ...,
) -> AtlasListClustersOutput:
    """List MongoDB Atlas clusters

    Args:
        projectId: Atlas project ID to filter clusters
    """
@overload
@_either_way
async def atlas_list_clusters(arguments: AtlasListClustersInput, /) -> AtlasListClustersOutput: ...

class FindOutput(TypedDict):
    documents: list[Any]
    """The documents returned by the find query"""
    queryResultsCount: NotRequired[float]
    """The total number of documents returned by the find query"""
    appliedLimits: list[Literal["config.maxDocumentsPerQuery", "config.maxBytesPerQuery", "tool.responseBytesLimit"]]
    """The limits applied to the find query"""

FindSortValue = TypedDict(
    "FindSortValue",
    {
        "$meta": str,
    },
)

class FindInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    connectionId: str
    database: str
    collection: str
    filter: NotRequired[Mapping[str, Any]]
    projection: NotRequired[Mapping[str, Any]]
    limit: NotRequired[float]
    sort: NotRequired[Mapping[str, Literal[1, -1, "asc", "desc", "ascending", "descending"] | FindSortValue]]
    responseBytesLimit: NotRequired[float]

# ptc {"tool": "mcp__mongodb__find", "input": "FindInput"}
@overload
@_either_way
async def find(
    *,
    connectionId: str,
    database: str,
    collection: str,
    filter: Mapping[str, Any] = ...,
    projection: Mapping[str, Any] = ...,
    limit: float = ...,
    sort: Mapping[str, Literal[1, -1, "asc", "desc", "ascending", "descending"] | FindSortValue] = ...,
    responseBytesLimit: float = ...,
) -> FindOutput:
    """Run a find query against a MongoDB collection

    Args:
        connectionId: The connection to run the operation against. Use the id returned by one of the connect tools, or "preconfigured" to use the connection string the server was configured with.
        database: Database name
        collection: Collection name
        filter: The query filter, matching the syntax of the query argument of db.collection.find()
        projection: The projection, matching the syntax of the projection argument of db.collection.find()
        limit: The maximum number of documents to return
            Default: 10
        sort: A document, describing the sort order, matching the syntax of the sort argument of cursor.sort(). The keys of the object are the fields to sort on, while the values are the sort directions (1 for ascending, -1 for descending).
            Values: The sort key and its direction
        responseBytesLimit: The maximum number of bytes to return in the response. This value is capped by the server's configured maximum and cannot be exceeded.
            Default: 1048576
    """
@overload
@_either_way
async def find(arguments: FindInput, /) -> FindOutput: ...
