"""A knowledge graph that remembers
Tools of the MCP server "memory". Written by `ptc generate`: edits are lost.
"""

from servers import either_way_ as _either_way

from collections.abc import Sequence
from typing import NotRequired, TypedDict, overload

class AddObservationsOutput(TypedDict):
    results: list[AddObservationsOutputResults]

class AddObservationsOutputResults(TypedDict):
    entityName: str
    addedObservations: list[str]

class AddObservationsObservations(TypedDict):
    entityName: str
    """The name of the entity to add the observations to"""
    contents: list[str]
    """An array of observation contents to add"""

class AddObservationsInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    observations: Sequence[AddObservationsObservations]

# ptc {"tool": "mcp__memory__add_observations", "input": "AddObservationsInput"}
@overload
@_either_way
async def add_observations(
    *,
    observations: Sequence[AddObservationsObservations],
) -> AddObservationsOutput:
    """Add new observations to existing entities in the knowledge graph"""
@overload
@_either_way
async def add_observations(arguments: AddObservationsInput, /) -> AddObservationsOutput: ...

class CreateEntitiesOutput(TypedDict):
    entities: list[CreateEntitiesOutputEntities]

class CreateEntitiesOutputEntities(TypedDict):
    name: str
    """The name of the entity"""
    entityType: str
    """The type of the entity"""
    observations: list[str]
    """An array of observation contents associated with the entity"""

class CreateEntitiesEntities(TypedDict):
    name: str
    """The name of the entity"""
    entityType: str
    """The type of the entity"""
    observations: list[str]
    """An array of observation contents associated with the entity"""

class CreateEntitiesInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    entities: Sequence[CreateEntitiesEntities]

# ptc {"tool": "mcp__memory__create_entities", "input": "CreateEntitiesInput"}
@overload
@_either_way
async def create_entities(
    *,
    entities: Sequence[CreateEntitiesEntities],
) -> CreateEntitiesOutput:
    """Create multiple new entities in the knowledge graph"""
@overload
@_either_way
async def create_entities(arguments: CreateEntitiesInput, /) -> CreateEntitiesOutput: ...

class CreateRelationsOutput(TypedDict):
    relations: list[CreateRelationsOutputRelations]

CreateRelationsOutputRelations = TypedDict(
    "CreateRelationsOutputRelations",
    {
        # The name of the entity where the relation starts
        "from": str,
        # The name of the entity where the relation ends
        "to": str,
        # The type of the relation
        "relationType": str,
    },
)

CreateRelationsRelations = TypedDict(
    "CreateRelationsRelations",
    {
        # The name of the entity where the relation starts
        "from": str,
        # The name of the entity where the relation ends
        "to": str,
        # The type of the relation
        "relationType": str,
    },
)

class CreateRelationsInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    relations: Sequence[CreateRelationsRelations]

# ptc {"tool": "mcp__memory__create_relations", "input": "CreateRelationsInput"}
@overload
@_either_way
async def create_relations(
    *,
    relations: Sequence[CreateRelationsRelations],
) -> CreateRelationsOutput:
    """Create multiple new relations between entities in the knowledge graph. Relations should be in active voice"""
@overload
@_either_way
async def create_relations(arguments: CreateRelationsInput, /) -> CreateRelationsOutput: ...

class DeleteEntitiesOutput(TypedDict):
    success: bool
    message: str

class DeleteEntitiesInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    entityNames: list[str]

# ptc {"tool": "mcp__memory__delete_entities", "input": "DeleteEntitiesInput"}
@overload
@_either_way
async def delete_entities(
    *,
    entityNames: list[str],
) -> DeleteEntitiesOutput:
    """Delete multiple entities and their associated relations from the knowledge graph

    Args:
        entityNames: An array of entity names to delete
    """
@overload
@_either_way
async def delete_entities(arguments: DeleteEntitiesInput, /) -> DeleteEntitiesOutput: ...

class DeleteObservationsOutput(TypedDict):
    success: bool
    message: str

class DeleteObservationsDeletions(TypedDict):
    entityName: str
    """The name of the entity containing the observations"""
    observations: list[str]
    """An array of observations to delete"""

class DeleteObservationsInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    deletions: Sequence[DeleteObservationsDeletions]

# ptc {"tool": "mcp__memory__delete_observations", "input": "DeleteObservationsInput"}
@overload
@_either_way
async def delete_observations(
    *,
    deletions: Sequence[DeleteObservationsDeletions],
) -> DeleteObservationsOutput:
    """Delete specific observations from entities in the knowledge graph"""
@overload
@_either_way
async def delete_observations(arguments: DeleteObservationsInput, /) -> DeleteObservationsOutput: ...

class DeleteRelationsOutput(TypedDict):
    success: bool
    message: str

DeleteRelationsRelations = TypedDict(
    "DeleteRelationsRelations",
    {
        # The name of the entity where the relation starts
        "from": str,
        # The name of the entity where the relation ends
        "to": str,
        # The type of the relation
        "relationType": str,
    },
)

class DeleteRelationsInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    relations: Sequence[DeleteRelationsRelations]

# ptc {"tool": "mcp__memory__delete_relations", "input": "DeleteRelationsInput"}
@overload
@_either_way
async def delete_relations(
    *,
    relations: Sequence[DeleteRelationsRelations],
) -> DeleteRelationsOutput:
    """Delete multiple relations from the knowledge graph

    Args:
        relations: An array of relations to delete
    """
@overload
@_either_way
async def delete_relations(arguments: DeleteRelationsInput, /) -> DeleteRelationsOutput: ...

class OpenNodesOutput(TypedDict):
    entities: list[OpenNodesOutputEntities]
    relations: list[OpenNodesOutputRelations]

class OpenNodesOutputEntities(TypedDict):
    name: str
    """The name of the entity"""
    entityType: str
    """The type of the entity"""
    observations: list[str]
    """An array of observation contents associated with the entity"""

OpenNodesOutputRelations = TypedDict(
    "OpenNodesOutputRelations",
    {
        # The name of the entity where the relation starts
        "from": str,
        # The name of the entity where the relation ends
        "to": str,
        # The type of the relation
        "relationType": str,
    },
)

class OpenNodesInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    names: list[str]

# ptc {"tool": "mcp__memory__open_nodes", "input": "OpenNodesInput"}
@overload
@_either_way
async def open_nodes(
    *,
    names: list[str],
) -> OpenNodesOutput:
    """Open specific nodes in the knowledge graph by their names

    Args:
        names: An array of entity names to retrieve
    """
@overload
@_either_way
async def open_nodes(arguments: OpenNodesInput, /) -> OpenNodesOutput: ...

class ReadGraphOutput(TypedDict):
    entities: list[ReadGraphOutputEntities]
    relations: list[ReadGraphOutputRelations]

class ReadGraphOutputEntities(TypedDict):
    name: str
    """The name of the entity"""
    entityType: str
    """The type of the entity"""
    observations: list[str]
    """An array of observation contents associated with the entity"""

ReadGraphOutputRelations = TypedDict(
    "ReadGraphOutputRelations",
    {
        # The name of the entity where the relation starts
        "from": str,
        # The name of the entity where the relation ends
        "to": str,
        # The type of the relation
        "relationType": str,
    },
)

# ptc {"tool": "mcp__memory__read_graph"}
@_either_way
async def read_graph() -> ReadGraphOutput:
    """Read the entire knowledge graph"""

class ResourcesListOutput(TypedDict):
    resources: list[ResourcesListOutputResources]
    resourceTemplates: list[ResourcesListOutputResourceTemplates]

class ResourcesListOutputResources(TypedDict):
    uri: str
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    mimeType: NotRequired[str]
    size: NotRequired[float]

class ResourcesListOutputResourceTemplates(TypedDict):
    uriTemplate: str
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    mimeType: NotRequired[str]

# ptc {"tool": "mcp__memory__resources/list"}
@_either_way
async def resources_list() -> ResourcesListOutput:
    """Lists the resources of this server, and the templates (RFC 6570) of the URIs of those that it does not list. In a program also `resources.list()`."""

class ResourcesReadOutput(TypedDict):
    contents: list[ResourcesReadOutputContents]

class ResourcesReadOutputContents(TypedDict):
    uri: str
    mimeType: NotRequired[str]
    text: NotRequired[str]
    blob: NotRequired[str]

class ResourcesReadInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    uri: str

# ptc {"tool": "mcp__memory__resources/read", "input": "ResourcesReadInput"}
@overload
@_either_way
async def resources_read(
    *,
    uri: str,
) -> ResourcesReadOutput:
    """Reads a resource of this server: each of its contents is `text`, or a `blob` in base64, which `bytesOf` decodes. In a program also `resources.read(uri)`."""
@overload
@_either_way
async def resources_read(arguments: ResourcesReadInput, /) -> ResourcesReadOutput: ...

class SearchNodesOutput(TypedDict):
    entities: list[SearchNodesOutputEntities]
    relations: list[SearchNodesOutputRelations]

class SearchNodesOutputEntities(TypedDict):
    name: str
    """The name of the entity"""
    entityType: str
    """The type of the entity"""
    observations: list[str]
    """An array of observation contents associated with the entity"""

SearchNodesOutputRelations = TypedDict(
    "SearchNodesOutputRelations",
    {
        # The name of the entity where the relation starts
        "from": str,
        # The name of the entity where the relation ends
        "to": str,
        # The type of the relation
        "relationType": str,
    },
)

class SearchNodesInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    query: str

# ptc {"tool": "mcp__memory__search_nodes", "input": "SearchNodesInput"}
@overload
@_either_way
async def search_nodes(
    *,
    query: str,
) -> SearchNodesOutput:
    """Search for nodes in the knowledge graph based on a query

    Args:
        query: The search query to match against entity names, types, and observation content
    """
@overload
@_either_way
async def search_nodes(arguments: SearchNodesInput, /) -> SearchNodesOutput: ...

class _resources:
    @_either_way
    async def list(self) -> ResourcesListOutput:
        """All resources, and templates of URIs."""
    @_either_way
    async def read(self, uri: str) -> ResourcesReadOutput:
        """The contents of one resource."""

resources: _resources
