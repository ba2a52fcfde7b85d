"""The functions with which a program calls tools."""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, Literal, cast

from ptc_runner.channel import Channel, FrameError
from ptc_runner.environment.event_order import EventOrder
from ptc_runner.limits import MAX_TOOL_NAME_CHARS
from ptc_runner.result_value import UnsendableError, to_json
from ptc_runner.tool_error import ToolError, tool_error_of

_caller_of = sys._getframe  # pyright: ignore[reportPrivateUsage]

Mode = Literal["sync", "async"]
Reply = dict[str, Any]

_MAX_OWN_FRAMES = 8
"""The most frames between a program's code and the code that makes its call."""
_MAX_SHOWN_CHARS = 64
_PREFIX = "mcp__"


class Caller:
    """Makes calls over one channel. They block or return a future, depending on the program's mode."""

    def __init__(self, channel: Channel, order: EventOrder, loop: asyncio.AbstractEventLoop) -> None:
        self._channel = channel
        self._order = order
        self._loop = loop
        self._process = os.getpid()
        self.mode: Mode = "async"
        # The modes of a session's programs, by their code objects: a function blocks or not like the program that defined it.
        self._modes: dict[int, tuple[CodeType, Mode]] = {}
        # Calls whose answers may never be asked for.
        self._futures: set[asyncio.Future[Any]] = set()

    def call(self, name: str, arguments: object, raw: bool = False) -> Any:
        """The data that a tool returned, or a future of it. With `raw` it never raises, and returns the same as `result`."""
        outcome = _outcome if raw else _data
        mode = self.mode if not self._modes else self.mode_of(_caller_of(1))
        if mode == "sync":
            return outcome(self._block(name, arguments, raw))
        return self._begin(name, arguments, raw, outcome)

    def unanswered(self) -> list[asyncio.Future[Any]]:
        """Futures of calls that have not ended, or whose failure has not been retrieved."""
        return [future for future in self._futures if not future.cancelled()]

    def remember(self, code: CodeType) -> None:
        """Remembers the mode for all code that a program of a session defines."""
        self._modes[id(code)] = (code, self.mode)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.remember(constant)

    def mode_of(self, frame: FrameType | None) -> Mode:
        """The mode of the program whose code is calling."""
        for _ in range(_MAX_OWN_FRAMES):
            if frame is None:
                break
            known = self._modes.get(id(frame.f_code))
            if known is not None:
                return known[1]
            frame = frame.f_back
        return self.mode

    def abandon(self) -> None:
        """The program has ended, and nothing waits for an answer."""
        self._futures.clear()

    def _block(self, name: str, arguments: object, raw: bool) -> Reply:
        replies: list[Reply] = []
        refused = self._send(name, arguments, raw, replies.append)
        if refused is not None:
            return refused
        self._order.wait_until(lambda: bool(replies))
        return replies[0]

    def _begin(self, name: str, arguments: object, raw: bool, outcome: Callable[[Reply], Any]) -> asyncio.Future[Any]:
        # A thread may run its own loop.
        running = asyncio._get_running_loop()
        loop = self._loop if running is None else running
        future: asyncio.Future[Any] = loop.create_future()
        self._futures.add(future)

        def settle(reply: Reply) -> None:
            if future.done():
                self._futures.discard(future)
                return
            try:
                future.set_result(outcome(reply))
                self._futures.discard(future)
            except ToolError as error:
                future.set_exception(error)

        def deliver(reply: Reply) -> None:
            if loop is self._loop:
                settle(reply)
            else:
                loop.call_soon_threadsafe(settle, reply)

        refused = self._send(name, arguments, raw, deliver)
        if refused is not None:
            settle(refused)
        return future

    def _send(self, name: object, arguments: object, raw: bool, deliver: Callable[[Reply], None]) -> Reply | None:
        """Sends a call. If it cannot be sent, returns the reply."""
        called = str(name)
        if len(called) > MAX_TOOL_NAME_CHARS:
            shown = f"{called[:_MAX_SHOWN_CHARS]}..."
            return _refusal("", shown, f"'{shown}' is not available in execute_program")
        if os.getpid() != self._process:
            return _unsendable(called, "a child process of the program can call no tools")
        try:
            text = to_json({} if arguments is None else arguments, "arguments")
            call_id = self._order.expect_answer(deliver)
            try:
                self._channel.send_json(_call_text(call_id, to_json(called), text, raw))
            except FrameError:
                self._order.forget_call(call_id)
                raise
        except (UnsendableError, FrameError) as error:
            return _unsendable(called, str(error))
        return None


def _call_text(call_id: int, tool: str, arguments: str, raw: bool) -> str:
    end = ',"raw":true}' if raw else "}"
    return f'{{"type":"call","id":{call_id},"tool":{tool},"arguments":{arguments}{end}'


def _data(reply: Reply) -> Any:
    if reply["ok"]:
        return reply.get("data")
    raise tool_error_of(reply)


def _outcome(reply: Reply) -> dict[str, Any]:
    if reply["ok"]:
        return {"ok": True, "data": reply.get("data"), "raw": reply.get("raw")}
    return {"ok": False, "error": tool_error_of(reply), **{key: reply[key] for key in ("data", "raw") if key in reply}}


def _unsendable(name: str, reason: str) -> Reply:
    module, _, tool = name.removeprefix(_PREFIX).partition("__")
    known = name.startswith(_PREFIX) and module != "" and tool != ""
    message = f"'{name}' was not called: its arguments cannot be sent: {reason}"
    return _refusal(module if known else "", tool if known else name, message)


def _refusal(server: str, tool: str, message: str) -> Reply:
    error = {"type": "ToolError", "server": server, "tool": tool, "message": message, "retryable": False}
    return {"ok": False, "error": error}


class ToolFunction:
    """Calls one tool with keyword arguments, or with one dict that has the tool's own names."""

    def __init__(self, caller: Caller, name: str, tool: str, parameters: Mapping[str, str]) -> None:
        self.__name__ = self.__qualname__ = name
        self.caller = caller
        self.tool = tool
        self.parameters = parameters

    def __call__(self, arguments: object = None, /, **keywords: object) -> Any:
        return self.caller.call(self.tool, self._arguments(arguments, keywords))

    def result(self, arguments: object = None, /, **keywords: object) -> Any:
        """Never raises: gives a dict with `ok`, and with `data` and `raw`, or with `error`."""
        return self.caller.call(self.tool, self._arguments(arguments, keywords), raw=True)

    def __repr__(self) -> str:
        return f"<tool {self.tool}>"

    def _arguments(self, arguments: object, keywords: dict[str, object]) -> object:
        named = {self.parameters.get(name, name): value for name, value in keywords.items()}
        if arguments is None:
            return named
        if not isinstance(arguments, Mapping):
            raise TypeError(f"{self.__name__}() takes keyword arguments or one dict, not a {type(arguments).__name__}")
        return {**cast("Mapping[str, object]", arguments), **named}


def make_call_tool(caller: Caller, function: Callable[[ToolFunction], ToolFunction] = lambda made: made) -> Callable[..., Any]:
    """Makes the function for names that are computed at run time. `function` runs those of saved programs."""

    def call_tool(name: str, arguments: object = None, /, **keywords: object) -> Any:
        """Calls a tool by its namespaced name, mcp__<server>__<tool>."""
        return function(ToolFunction(caller, "call_tool", name, {}))(arguments, **keywords)

    return call_tool
