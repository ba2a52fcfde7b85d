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
    """Shortens the message if necessary. The end of a traceback says more than its middle, so both ends are kept."""
    text = message.encode("utf-8", "replace").decode()
    if len(text) > MAX_ERROR_MESSAGE_CHARS:
        head = text[: MAX_ERROR_MESSAGE_CHARS - _TAIL_CHARS - len(TRUNCATION_MARK) - 2]
        text = f"{head}\n{TRUNCATION_MARK}\n{text[-_TAIL_CHARS:]}"
    return {"type": kind, "message": text, "retryable": retryable}
