"""The pages of a list, a call of its tool each."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from ptc_runner.tools import ToolFunction

_NEXT_PAGE = "ptc/next"
"""Where a result of a tool has the arguments of the call that gives the next page."""


def pages_sync(function: ToolFunction, arguments: object = None, /, **keywords: object) -> Iterator[Any]:
    """The result of a call, and those of the calls that follow from it, as long as each names the next one."""
    outcome = _checked(function).result(arguments, **keywords)
    while outcome is not None:
        page, following = _read(outcome)
        yield page
        outcome = None if following is None else function.result(following)


async def pages_async(function: ToolFunction, arguments: object = None, /, **keywords: object) -> AsyncIterator[Any]:
    """As `pages_sync`, in a program that awaits its calls."""
    outcome = await _checked(function).result(arguments, **keywords)
    while outcome is not None:
        page, following = _read(outcome)
        yield page
        outcome = None if following is None else await function.result(following)


def _checked(function: Any) -> ToolFunction:
    if not isinstance(function, ToolFunction):
        raise TypeError(f"pages() takes a tool's function and its arguments, not a {type(function).__name__}")
    return function


def _read(outcome: dict[str, Any]) -> tuple[Any, Any]:
    if not outcome["ok"]:
        raise outcome["error"]
    return outcome["data"], _member(_member(outcome.get("raw"), "_meta"), _NEXT_PAGE)


def _member(value: object, name: str) -> object:
    return cast(dict[str, object], value).get(name) if isinstance(value, dict) else None
