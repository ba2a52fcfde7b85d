"""Saved programs. Each is a function that runs its text in the sandbox of its caller, with its own data, names and result."""

import builtins
import inspect
import io
import json
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import CodeType
from typing import Any, NotRequired, TypedDict, cast

from ptc_runner.program_text import LAST, RETURN, TopLevelReturnError, compile_program, is_coroutine
from ptc_runner.result_value import read_line, to_json
from ptc_runner.tools import ToolFunction

_loads = json.loads
_NOT_SET = object()
_MAX_DEPTH = 5
_running: ContextVar[tuple[str, ...]] = ContextVar("saved_programs", default=())
"""The tools of the running programs, each called by the one before."""
_print = print
_caller_of = sys._getframe  # pyright: ignore[reportPrivateUsage]

Bind = Callable[[CodeType], Mapping[str, object]]
"""Returns the tools that a program calls by their namespaced names."""

Check = Callable[[Any], Any]
"""Returns a value that is valid, and raises for any other."""


class ProgramTable(TypedDict):
    """protocol/runners.ts."""

    source: str
    file_name: str
    output: NotRequired[str]
    """The JSON Schema of its value, as JSON text."""


class SavedPrograms:
    """The saved programs of a run, by tool name."""

    def __init__(self) -> None:
        self._programs: dict[str, ProgramTable] = {}
        self._codes: dict[str, CodeType] = {}

    def install(self, programs: dict[str, ProgramTable]) -> None:
        self._programs = programs
        self._codes.clear()

    def function(self, gate: ToolFunction, bind: Bind) -> ToolFunction:
        """The function of a tool, which may be a saved program."""
        return SavedFunction(gate, self, bind) if gate.tool in self._programs else gate

    def call(self, tool: str, data: object, bind: Bind) -> Any:
        """The value of a program, or an awaitable of it if the program awaits."""
        path = _below(tool)
        token = _running.set(path)
        try:
            value = self._call(tool, data, bind)
        finally:
            _running.reset(token)
        return _in_path(path, value) if inspect.isawaitable(value) else value

    def _call(self, tool: str, data: object, bind: Bind) -> Any:
        program = self._programs[tool]
        code = self._codes.get(tool)
        if code is None:
            code = compile_program(program["source"], program["file_name"])
            self._codes[tool] = code
        printed = io.StringIO()
        scope: dict[str, Any] = {
            **bind(code),
            "__name__": "__main__",
            "__builtins__": builtins,
            "__file__": program["file_name"],
            RETURN: TopLevelReturnError,
            "data": data,
            "print": _printer(printed),
        }
        check = _checker(tool, program)
        if is_coroutine(code):
            return _run_awaiting(eval(code, scope), scope, printed, check)
        returned: object = _NOT_SET
        try:
            exec(code, scope)
        except TopLevelReturnError as error:
            returned = error.value
        value = _value_of(scope, returned, printed)
        return _awaited(value, check) if inspect.isawaitable(value) else check(_copy(value))


class SavedFunction(ToolFunction):
    """Asks the broker, as any call of a tool does, and then runs the program."""

    def __init__(self, gate: ToolFunction, programs: SavedPrograms, bind: Bind) -> None:
        super().__init__(gate.caller, gate.__name__, gate.tool, gate.parameters)
        self._programs = programs
        self._bind = bind

    def __call__(self, arguments: object = None, /, **keywords: object) -> Any:
        data = _copy(self._arguments(arguments, keywords), "arguments")
        mode = self.caller.mode_of(_caller_of(1))
        begun = self.caller.call(self.tool, data)
        if mode == "sync":
            return self._run(data)
        return self._run_after(begun, data)

    def result(self, arguments: object = None, /, **keywords: object) -> Any:
        if self.caller.mode_of(_caller_of(1)) == "sync":
            try:
                return {"ok": True, "data": self(arguments, **keywords)}
            except Exception as error:
                return {"ok": False, "error": error}
        return self._result_after(arguments, keywords)

    def __repr__(self) -> str:
        return f"<saved program {self.tool}>"

    def _run(self, data: object) -> Any:
        return self._programs.call(self.tool, _copy(data), self._bind)

    async def _run_after(self, begun: Any, data: object) -> Any:
        await begun
        value = self._run(data)
        return await value if inspect.isawaitable(value) else value

    async def _result_after(self, arguments: object, keywords: dict[str, object]) -> Any:
        try:
            return {"ok": True, "data": await self(arguments, **keywords)}
        except Exception as error:
            return {"ok": False, "error": error}


def _below(tool: str) -> tuple[str, ...]:
    """The running programs after a call of another. Names computed at run time evade the host's check, so this checks again."""
    path = _running.get()
    way = " -> ".join([*path, tool])
    if tool in path:
        raise RecursionError(f"a saved program cannot call itself: {way}")
    if len(path) >= _MAX_DEPTH:
        raise RecursionError(f"saved programs call each other deeper than {_MAX_DEPTH} levels: {way}")
    return (*path, tool)


async def _in_path(path: tuple[str, ...], work: Any) -> Any:
    """Awaits a program as the last of the running programs."""
    token = _running.set(path)
    try:
        return await work
    finally:
        _running.reset(token)


async def _run_awaiting(coroutine: Any, scope: dict[str, Any], printed: io.StringIO, check: Check) -> Any:
    returned: object = _NOT_SET
    try:
        await coroutine
    except TopLevelReturnError as error:
        returned = error.value
    value = _value_of(scope, returned, printed)
    return check(_copy(await value if inspect.isawaitable(value) else value))


async def _awaited(value: Any, check: Check) -> Any:
    return check(_copy(await value))


def _checker(tool: str, program: ProgramTable) -> Check:
    """Checks the value of a program if its manifest declares an output schema."""
    schema = program.get("output")
    if schema is None:
        return lambda value: value
    # Imported late because few programs need it.
    from ptc_runner.saved_value import check_saved_value

    def check(value: Any) -> Any:
        check_saved_value(tool, _loads(schema), value)
        return value

    return check


def _value_of(scope: dict[str, Any], returned: object, printed: io.StringIO) -> Any:
    """The value of a program, as in a run of its own: its result, its last expression, or its output."""
    value = scope.get("result", returned)
    if value is not _NOT_SET and not (value is None and "result" not in scope):
        return value
    text = printed.getvalue()
    last = scope.get(LAST)
    if last is not None and text == "":
        return last
    lines = [line for line in text.split("\n") if line.strip() != ""]
    try:
        return read_line(lines[-1]) if lines else ""
    except ValueError:
        return text.removesuffix("\n")


def _copy(value: object, name: str = "result") -> Any:
    """A copy of a value, by way of JSON."""
    return _loads(to_json(value, name))


def _printer(printed: io.StringIO) -> Callable[..., None]:
    """Makes `print` for a saved program: its output goes to the log, and is its value if it has no other."""

    def print(*values: object, file: Any = None, **options: Any) -> None:
        if file is not None:
            _print(*values, file=file, **options)
            return
        options.pop("flush", None)
        _print(*values, file=printed, **options)
        _print(*values, file=sys.stderr, **options)

    return cast("Callable[..., None]", print)
