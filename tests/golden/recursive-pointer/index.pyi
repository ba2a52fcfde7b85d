"""Tools of the MCP server "brightdata". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, overload

class SearchDatasetFiltersItem(TypedDict):
    name: str
    """Field name to filter on. Get valid field names from the list_dataset_fields tool."""
    operator: str
    """Filter operator, one of: =, !=, <, <=, >, >=, in, not_in, includes, not_includes, array_includes, not_array_includes, is_null, is_not_null"""
    value: str | float | bool | list[str | float | bool]

class SearchDatasetFilter(TypedDict):
    operator: Literal["and", "or"]
    filters: Sequence[SearchDatasetFilterFilters | SearchDatasetFiltersItem]

class SearchDatasetFilterFilters(TypedDict):
    operator: Literal["and", "or"]
    filters: Sequence[SearchDatasetFilterFiltersFilters | SearchDatasetFiltersItem]

class SearchDatasetFilterFiltersFilters(TypedDict):
    operator: Literal["and", "or"]
    filters: Sequence[SearchDatasetFiltersItem]

class SearchDatasetInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    dataset_id: Literal["gd_l1viktl72bvl7bjuj0", "gd_me5ppxjr2ge6icjuh0", "gd_l1vikfnt1wgvvqz95w"]
    filter: SearchDatasetFilter | SearchDatasetFiltersItem
    size: NotRequired[int]
    sort: NotRequired[Literal["default", "random"] | Sequence[Mapping[str, Literal["asc", "desc"]]]]
    search_after: NotRequired[list[Any]]

# ptc {"tool": "mcp__brightdata__search_dataset", "input": "SearchDatasetInput"}
@overload
@_either_way
async def search_dataset(
    *,
    dataset_id: Literal["gd_l1viktl72bvl7bjuj0", "gd_me5ppxjr2ge6icjuh0", "gd_l1vikfnt1wgvvqz95w"],
    filter: SearchDatasetFilter | SearchDatasetFiltersItem,
    size: int = ...,
    sort: Literal["default", "random"] | Sequence[Mapping[str, Literal["asc", "desc"]]] = ...,
    search_after: list[Any] = ...,
) -> Any:
    """Search a Bright Data dataset by a filter and get matching records back directly (fast Elasticsearch-backed search; no snapshot). Use this to FIND MANY records by criteria, as opposed to the web_data_* tools which fetch ONE record by URL.
    First call list_dataset_fields to get valid field names.
    A filter is a tree: a group {operator:"and"|"or", filters:[...]} or a leaf {name, value, operator}. Max nesting depth 3.
    Leaf operators: =, !=, <, <=, >, >=, in, not_in, includes, not_includes, array_includes, not_array_includes, is_null, is_not_null.
    Supported dataset_id values:
    - gd_l1viktl72bvl7bjuj0: LinkedIn people profiles
    - gd_me5ppxjr2ge6icjuh0: LinkedIn people profiles (contact-enriched)
    - gd_l1vikfnt1wgvvqz95w: LinkedIn company information

    Args:
        filter: Filter tree describing which records to match. Required, cannot be empty.
        size: Number of records to return (max 10, default 10)
        sort: Sorting: "default", "random", or a custom array like [{"timestamp":"asc"}]. Use "default" or custom sort to paginate with search_after.
        search_after: Pagination cursor from a previous response's search_after value.
    """
@overload
@_either_way
async def search_dataset(arguments: SearchDatasetInput, /) -> Any: ...
