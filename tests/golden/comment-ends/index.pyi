"""Tools of the MCP server "playwright". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, overload

class BrowserDropInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    element: NotRequired[str]
    target: str
    paths: NotRequired[list[str]]
    data: NotRequired[Mapping[str, str]]

# ptc {"tool": "mcp__playwright__browser_drop", "input": "BrowserDropInput"}
@overload
@_either_way
async def browser_drop(
    *,
    target: str,
    element: str = ...,
    paths: list[str] = ...,
    data: Mapping[str, str] = ...,
) -> Any:
    """Drop files or MIME-typed data onto an element, as if dragged from outside the page. At least one of "paths" or "data" must be provided.

    Args:
        element: Human-readable element description used to obtain permission to interact with the element
        target: Exact target element reference from the page snapshot, or a unique element selector
        paths: Absolute paths to files to drop onto the element.
        data: Data to drop, as a map of MIME type to string value (e.g. {"text/plain": "hello", "text/uri-list": "https://example.com"}).
    """
@overload
@_either_way
async def browser_drop(arguments: BrowserDropInput, /) -> Any: ...

class BrowserEvaluateInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    element: NotRequired[str]
    target: NotRequired[str]
    function: str
    filename: NotRequired[str]

# ptc {"tool": "mcp__playwright__browser_evaluate", "input": "BrowserEvaluateInput"}
@overload
@_either_way
async def browser_evaluate(
    *,
    function: str,
    element: str = ...,
    target: str = ...,
    filename: str = ...,
) -> Any:
    """Evaluate JavaScript expression on page or element

    Args:
        element: Human-readable element description used to obtain permission to interact with the element
        target: Exact target element reference from the page snapshot, or a unique element selector
        function: () => { /* code */ } or (element) => { /* code */ } when element is provided
        filename: File name to save the result to. Relative file names are resolved against the workspace root. If not provided, result is returned as text.
    """
@overload
@_either_way
async def browser_evaluate(arguments: BrowserEvaluateInput, /) -> Any: ...

class BrowserRouteInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    pattern: str
    status: NotRequired[float]
    body: NotRequired[str]
    contentType: NotRequired[str]
    headers: NotRequired[list[str]]
    removeHeaders: NotRequired[str]

# ptc {"tool": "mcp__playwright__browser_route", "input": "BrowserRouteInput"}
@overload
@_either_way
async def browser_route(
    *,
    pattern: str,
    status: float = ...,
    body: str = ...,
    contentType: str = ...,
    headers: list[str] = ...,
    removeHeaders: str = ...,
) -> Any:
    """Set up a route to mock network requests matching a URL pattern

    Args:
        pattern: URL pattern to match (e.g., "**/api/users", "**/*.{png,jpg}")
        status: HTTP status code to return (default: 200)
        body: Response body (text or JSON string)
        contentType: Content-Type header (e.g., "application/json", "text/html")
        headers: Headers to add in "Name: Value" format
        removeHeaders: Comma-separated list of header names to remove from request
    """
@overload
@_either_way
async def browser_route(arguments: BrowserRouteInput, /) -> Any: ...
