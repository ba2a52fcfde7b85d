"""Tools of the MCP server "notion". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, NotRequired, TypedDict, overload

# ptc {"tool": "mcp__notion__API-get-self"}
@_either_way
async def API_get_self() -> Any:
    """Notion | Retrieve your token's bot user
    Error Responses:
    400: Bad request
    """

class ApiGetUserInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    user_id: str

# ptc {"tool": "mcp__notion__API-get-user", "input": "ApiGetUserInput"}
@overload
@_either_way
async def API_get_user(
    *,
    user_id: str,
) -> Any:
    """Notion | Retrieve a user
    Error Responses:
    400: 400

    Args:
        user_id: Format: uuid
    """
@overload
@_either_way
async def API_get_user(arguments: ApiGetUserInput, /) -> Any: ...

class ApiRetrieveAPageInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    page_id: str
    filter_properties: NotRequired[str]

# ptc {"tool": "mcp__notion__API-retrieve-a-page", "input": "ApiRetrieveAPageInput"}
@overload
@_either_way
async def API_retrieve_a_page(
    *,
    page_id: str,
    filter_properties: str = ...,
) -> Any:
    """Notion | Retrieve a page
    Error Responses:
    400: Bad request

    Args:
        page_id: Identifier for a Notion page
        filter_properties: A list of page property value IDs associated with the page. Use this param to limit the response to a specific page property value or values. To retrieve multiple properties, specify each page property ID. For example: `?filter_properties=iAk8&filter_properties=b7dh`.
    """
@overload
@_either_way
async def API_retrieve_a_page(arguments: ApiRetrieveAPageInput, /) -> Any: ...
