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

# ptc {"tool": "mcp__web__resources/list"}
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

# ptc {"tool": "mcp__web__resources/read", "input": "ResourcesReadInput"}
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

class _resources:
    @_either_way
    async def list(self) -> ResourcesListOutput:
        """All resources, and templates of URIs."""
    @_either_way
    async def read(self, uri: str) -> ResourcesReadOutput:
        """The contents of one resource."""

resources: _resources
