"""Tools of the MCP server "figma-console". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypedDict, overload

class FigmaCreateChildProperties(TypedDict):
    name: NotRequired[str]
    """Name for the new node"""
    x: NotRequired[float]
    """X position within parent"""
    y: NotRequired[float]
    """Y position within parent"""
    width: NotRequired[float]
    """Width (default: 100)"""
    height: NotRequired[float]
    """Height (default: 100)"""
    fills: NotRequired[Sequence[FigmaCreateChildPropertiesFills]]
    """Fill colors (hex strings)"""
    text: NotRequired[str]
    """Text content (for TEXT nodes only)"""

class FigmaCreateChildPropertiesFills(TypedDict):
    type: Literal["SOLID"]
    color: str

class FigmaCreateChildInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    parentId: str
    nodeType: Literal["RECTANGLE", "ELLIPSE", "FRAME", "TEXT", "LINE"]
    properties: NotRequired[FigmaCreateChildProperties]

# ptc {"tool": "mcp__figma_console__figma_create_child", "input": "FigmaCreateChildInput"}
@overload
@_either_way
async def figma_create_child(
    *,
    parentId: str,
    nodeType: Literal["RECTANGLE", "ELLIPSE", "FRAME", "TEXT", "LINE"],
    properties: FigmaCreateChildProperties = ...,
) -> Any:
    """Create a new child node inside a parent container. Always place inside an existing Section or Frame — never on a bare page. If no suitable parent exists, create a Section first. Clean up any empty or orphaned nodes if the operation fails.

    Args:
        parentId: The parent node ID
        nodeType: Type of node to create
        properties: Properties for the new node
    """
@overload
@_either_way
async def figma_create_child(arguments: FigmaCreateChildInput, /) -> Any: ...

class FigmaSetFillsFills(TypedDict):
    type: Literal["SOLID"]
    """Fill type (currently only SOLID supported)"""
    color: NotRequired[str]
    """Hex color string (e.g., '#FF0000', '#FF000080' for transparency). Optional when variableId is provided."""
    opacity: NotRequired[float]
    """Opacity 0-1 (default: 1)"""
    variableId: NotRequired[str]
    """Bind this fill's color to a Figma variable by id (e.g. 'VariableID:1:23' from figma_get_variables). When set, the variable drives the color. Import library variables first via figma_import_library_variable."""

class FigmaSetFillsInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    nodeId: str
    fills: Sequence[FigmaSetFillsFills]

# ptc {"tool": "mcp__figma_console__figma_set_fills", "input": "FigmaSetFillsInput"}
@overload
@_either_way
async def figma_set_fills(
    *,
    nodeId: str,
    fills: Sequence[FigmaSetFillsFills],
) -> Any:
    """Set the fill colors on a node. Accepts hex color strings (e.g., '#FF0000'). To bind a fill to a design token / color variable, pass that fill's variableId — the variable drives the color and this works on any Figma plan via the bridge (no raw figma_execute needed).

    Args:
        nodeId: The node ID to modify
        fills: Array of fill objects
    """
@overload
@_either_way
async def figma_set_fills(arguments: FigmaSetFillsInput, /) -> Any: ...
