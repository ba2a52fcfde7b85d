"""The exception of a failed tool call."""

from typing import Any

from ptc_runner.failure import FailureType


class ToolError(Exception):
    """A tool call that failed: the tool said so, or it was refused or could not be made."""

    server: str
    tool: str
    message: str
    retryable: bool
    data: Any
    """The structured content of a tool's failure, or the tool's answer if it contradicts what the tool declares; else None."""

    def __init__(
        self, message: str = "", *, server: str = "", tool: str = "", retryable: bool = False, data: Any = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.server = server
        self.tool = tool
        self.retryable = retryable
        self.data = data


ToolError.__module__ = "builtins"

# By identity, and outside the objects: a denial ends a run differently from a tool's error.
_denied: set[int] = set()


def tool_error_of(reply: dict[str, Any]) -> ToolError:
    """The exception for the host's reply to a failed call."""
    error = reply["error"]
    made = ToolError(
        error["message"], server=error["server"], tool=error["tool"], retryable=error["retryable"], data=reply.get("data")
    )
    if error["type"] == "ApprovalDenied":
        _denied.add(id(made))
        # Kept alive so that its identity is not reused.
        _alive.append(made)
    return made


_alive: list[ToolError] = []


def wire_type_of(error: ToolError) -> FailureType:
    return "ApprovalDenied" if id(error) in _denied else "ToolError"
