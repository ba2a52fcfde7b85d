"""Tools of the MCP server "maps". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, overload

class CountByStatusOutput(TypedDict):
    counts: CountByStatusOutputCounts
    byReference: NotRequired[CountByStatusOutputByReference]
    byConstants: NotRequired[CountByStatusOutputByConstants]
    onlyOne: NotRequired[CountByStatusOutputOnlyOne]
    requiredNames: NotRequired[CountByStatusOutputRequiredNames]
    byPattern: NotRequired[CountByStatusOutputByPattern]
    mixed: NotRequired[CountByStatusOutputMixed]
    closed: NotRequired[CountByStatusOutputClosed]
    ofAnything: NotRequired[CountByStatusOutputOfAnything]

class CountByStatusOutputCounts(TypedDict):
    open: float
    closed: float

class CountByStatusOutputByReference(TypedDict):
    open: NotRequired[int]
    closed: NotRequired[int]

class CountByStatusOutputByConstants(TypedDict):
    left: NotRequired[bool]
    right: NotRequired[bool]

class CountByStatusOutputOnlyOne(TypedDict):
    total: NotRequired[float]

class CountByStatusOutputRequiredNames(TypedDict, extra_items=Any):
    total: float

class CountByStatusOutputByPattern(TypedDict, extra_items=Any):
    x_total: str

class CountByStatusOutputMixed(TypedDict, extra_items=Any):
    name: str
    total: float

class CountByStatusOutputClosed(TypedDict):
    name: NotRequired[str]

class CountByStatusOutputOfAnything(TypedDict):
    a: NotRequired[Any]
    b: NotRequired[Any]

class CountByStatusWeights(TypedDict):
    open: NotRequired[float]
    closed: NotRequired[float]

class CountByStatusInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    weights: NotRequired[CountByStatusWeights]
    labels: NotRequired[Mapping[str, str]]

# ptc {"tool": "mcp__maps__count_by_status", "input": "CountByStatusInput"}
@overload
@_either_way
async def count_by_status(
    *,
    weights: CountByStatusWeights = ...,
    labels: Mapping[str, str] = ...,
) -> CountByStatusOutput:
    """A record over an enum, as zod 4 writes it."""
@overload
@_either_way
async def count_by_status(arguments: CountByStatusInput, /) -> CountByStatusOutput: ...
