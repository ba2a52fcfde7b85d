"""Why a program failed, as its claim reports it (protocol/failure.ts)."""

from typing import Literal, TypedDict

from ptc_runner.limits import MAX_ERROR_MESSAGE_CHARS, TRUNCATION_MARK

FailureType = Literal["ScriptError", "ToolError", "ApprovalDenied", "OutputLimit", "ResultNotSerializable"]

_TAIL_CHARS = 1_500


class Failure(TypedDict):
    type: FailureType
    message: str
    retryable: bool


def make_failure(kind: FailureType, message: str, retryable: bool = False) -> Failure:
    return {
        "type": kind,
        "message": _shorten(message.encode("utf-8", "replace").decode()),
        "retryable": retryable,
    }


def _shorten(text: str) -> str:
    """Keeps both ends of a text that is too long, as the end of a traceback says more than its middle.

    The end begins with a whole line: the host removes secrets from messages, and would not know the end of one.
    """
    if len(text) <= MAX_ERROR_MESSAGE_CHARS:
        return text
    head = text[: MAX_ERROR_MESSAGE_CHARS - _TAIL_CHARS - len(TRUNCATION_MARK) - 2]
    line_end = text.find("\n", len(text) - _TAIL_CHARS - 1)
    if 0 <= line_end < len(text) - 1:
        return f"{head}\n{TRUNCATION_MARK}\n{text[line_end + 1 :]}"
    # The last line is too long. Its beginning says what failed.
    last = text.rfind("\n", 0, -1) + 1
    if last <= len(head):
        return f"{text[: MAX_ERROR_MESSAGE_CHARS - len(TRUNCATION_MARK)]}{TRUNCATION_MARK}"
    end = text[last : last + _TAIL_CHARS - len(TRUNCATION_MARK)]
    return f"{head}\n{TRUNCATION_MARK}\n{end}{TRUNCATION_MARK}"
