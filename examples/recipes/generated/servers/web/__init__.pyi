"""Fetches pages and JSON
Tools of the MCP server "web". Written by `ptc generate`: edits are lost.
"""

from servers import either_way_ as _either_way

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, overload

class FetchHtmlInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    url: str
    headers: NotRequired[Mapping[str, Any]]

# ptc {"tool": "mcp__web__fetch_html", "input": "FetchHtmlInput"}
@overload
@_either_way
async def fetch_html(
    *,
    url: str,
    headers: Mapping[str, Any] = ...,
) -> Any:
    """Fetch a website and return the content as HTML

    Args:
        url: URL of the website to fetch
        headers: Optional headers to include in the request
    """
@overload
@_either_way
async def fetch_html(arguments: FetchHtmlInput, /) -> Any: ...

class FetchJsonInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    url: str
    headers: NotRequired[Mapping[str, Any]]

# ptc {"tool": "mcp__web__fetch_json", "input": "FetchJsonInput"}
@overload
@_either_way
async def fetch_json(
    *,
    url: str,
    headers: Mapping[str, Any] = ...,
) -> Any:
    """Fetch a JSON file from a URL

    Args:
        url: URL of the JSON to fetch
        headers: Optional headers to include in the request
    """
@overload
@_either_way
async def fetch_json(arguments: FetchJsonInput, /) -> Any: ...

class FetchMarkdownInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    url: str
    headers: NotRequired[Mapping[str, Any]]

# ptc {"tool": "mcp__web__fetch_markdown", "input": "FetchMarkdownInput"}
@overload
@_either_way
async def fetch_markdown(
    *,
    url: str,
    headers: Mapping[str, Any] = ...,
) -> Any:
    """Fetch a website and return the content as Markdown

    Args:
        url: URL of the website to fetch
        headers: Optional headers to include in the request
    """
@overload
@_either_way
async def fetch_markdown(arguments: FetchMarkdownInput, /) -> Any: ...

class FetchTxtInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    url: str
    headers: NotRequired[Mapping[str, Any]]

# ptc {"tool": "mcp__web__fetch_txt", "input": "FetchTxtInput"}
@overload
@_either_way
async def fetch_txt(
    *,
    url: str,
    headers: Mapping[str, Any] = ...,
) -> Any:
    """Fetch a website, return the content as plain text (no HTML)

    Args:
        url: URL of the website to fetch
        headers: Optional headers to include in the request
    """
@overload
@_either_way
async def fetch_txt(arguments: FetchTxtInput, /) -> Any: ...
