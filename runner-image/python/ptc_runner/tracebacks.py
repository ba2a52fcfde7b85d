"""Describes the exception of a program: its traceback as Python prints it, with only the frames of the program."""

import linecache
from traceback import TracebackException

from ptc_runner.failure import Failure, make_failure
from ptc_runner.newer_python import note_newer
from ptc_runner.tool_error import ToolError, wire_type_of

_MAX_FRAMES = 100
_make = TracebackException


class Tracebacks:
    """Knows the text of the program, so that tracebacks quote its lines."""

    def __init__(self, file_name: str, source: str) -> None:
        self._own = {file_name}
        self._source = source
        self.add(file_name, source)

    def add(self, file_name: str, source: str) -> None:
        """Makes tracebacks show the frames of a saved program too."""
        self._own.add(file_name)
        # Without a modification time, the entry stays in the cache.
        lines = [f"{line}\n" for line in source.split("\n")]
        linecache.cache[file_name] = (len(source), None, lines, file_name)

    def describe(self, error: BaseException) -> Failure:
        """Never raises."""
        try:
            message = self.print(error)
        except BaseException:
            message = f"{type(error).__name__}: it cannot be described"
        if isinstance(error, ToolError):
            return make_failure(wire_type_of(error), message, error.retryable is True)
        note = self._note(error)
        if note is not None:
            message += f"\n{note}"
        if isinstance(error, MemoryError):
            message += "\nthe program used more memory than it has; process less at a time, or raise execution.memory_mb"
        return make_failure("ScriptError", message)

    def _note(self, error: BaseException) -> str | None:
        try:
            return note_newer(error, self._source)
        except Exception:
            # The error is an object of the program, whose text may fail.
            return None

    def print(self, error: BaseException) -> str:
        """The traceback without the line feed at its end."""
        made = _make(type(error), error, error.__traceback__, limit=-_MAX_FRAMES, compact=True)
        self._keep_own_frames(made, set())
        return "".join(made.format()).removesuffix("\n")

    def _keep_own_frames(self, made: TracebackException, seen: set[int]) -> None:
        if id(made) in seen:
            return
        seen.add(id(made))
        made.stack[:] = [frame for frame in made.stack if frame.filename in self._own]
        if len(made.stack) == 0:
            # It is then printed without a traceback.
            made.stack = None  # pyright: ignore
        for other in (made.__cause__, made.__context__, *(made.exceptions or ())):
            if other is not None:
                self._keep_own_frames(other, seen)
