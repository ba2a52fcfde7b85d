"""The asynchronous client: one connection to a ``ptc serve``, which it starts, or which is at a URL."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, TypedDict

import mcp
from mcp.client.streamable_http import (
    create_mcp_http_client,  # pyright: ignore[reportPrivateImportUsage]
    streamable_http_client,
)

_TICKET = re.compile(r"[0-9a-f]{16}")


class Failure(TypedDict):
    """Why a run failed. ``type`` is one of a closed set, such as ``ScriptError`` or ``Timeout``."""

    type: str
    message: str
    retryable: bool


class Envelope(TypedDict):
    """The line that reports a run, sealed by ptc's host. Times are in milliseconds."""

    run_id: str
    trace_id: str
    tool_name: str
    tool_version: str
    input_digest: str
    output_digest: str
    sandbox_image: str | None
    duration_ms: int
    approval_state: Literal["NOT_REQUIRED", "APPROVED", "DENIED"]
    result: dict[str, Any]


@dataclass(frozen=True)
class Waiting:
    """A run that waits for an approval. ``ticket`` is what ``Ptc.resume`` takes."""

    ticket: str
    tool: str
    expires_at: datetime


@dataclass(frozen=True)
class Run:
    """What a program came to. ``emitted`` are content blocks as MCP has them."""

    ok: bool
    value: Any
    error: Failure | None
    envelope: Envelope
    text: str
    emitted: Sequence[Mapping[str, Any]]
    waiting: Waiting | None = None


@dataclass(frozen=True)
class Reply:
    """What a model gets of a call of one of ptc's tools. ``run`` is there for programs."""

    text: str
    content: Sequence[Mapping[str, Any]]
    is_error: bool
    run: Run | None = None


@dataclass(frozen=True)
class Question:
    """What a person is asked: whether a call may be made, or what a server wants to know in the middle of one.

    ``fields`` is the JSON Schema of each value that may be given with a yes. That of an approval is empty, or has
    ``decision`` for more than this call.
    """

    message: str
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class ProgressReport:
    """How far a program has come: how many calls it has begun, and a line that names the last of them."""

    progress: float
    total: float | None
    message: str | None


@dataclass(frozen=True)
class ToolDefinition:
    """One of ptc's tools for models, as MCP lists it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    title: str | None = None


class PtcError(Exception):
    """A program or an argument that ptc did not take, or a connection that cannot be made. The message is for people."""


#: True allows a call, False denies it, ``"later"`` leaves the run waiting. A mapping is a yes with these values.
Answer = bool | Literal["later"] | Mapping[str, Any]
Approve = Callable[[Question], Answer | Awaitable[Answer]]
ApproveSync = Callable[[Question], Answer]
OnProgress = Callable[[ProgressReport], None]


class Ptc:
    """A connection to ptc, open in ``async with``.

    Either ``url`` names a ``ptc serve --http``, with ``headers`` for every request; or ``ptc serve`` is started: ``command``
    are the words that start ptc, ``config`` is the path of a ``ptc.yaml``, ``cwd`` and ``env`` are those of the process.
    ``env`` is added to a small environment. ``approve`` is asked what a person is to decide; without it, runs wait.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        command: Sequence[str] = ("ptc",),
        config: str | os.PathLike[str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        approve: Approve | None = None,
    ) -> None:
        if url is not None and (config is not None or cwd is not None or env is not None):
            raise PtcError("config, cwd and env are those of a ptc that is started; with url there is none")
        self._url = url
        self._headers = dict(headers or {})
        program, *words = command
        flags = [] if config is None else ["--config", os.fspath(config)]
        self._stdio = mcp.StdioServerParameters(
            command=program,
            args=[*words, "serve", *flags],
            env=None if env is None else dict(env),
            cwd=None if cwd is None else os.fspath(cwd),
        )
        self._approve = approve
        self._stack = AsyncExitStack()
        self._client: mcp.Client | None = None

    async def __aenter__(self) -> Ptc:
        """Connects. Raises ``PtcError`` when that cannot be done."""
        elicitation = None if self._approve is None else self._elicit
        try:
            server: Any = self._stdio
            if self._url is not None:
                http = await self._stack.enter_async_context(create_mcp_http_client(headers=self._headers))
                server = streamable_http_client(self._url, http_client=http)
            client = mcp.Client(
                server,
                client_info=mcp.types.Implementation(name="ptc-client", version=_version()),
                elicitation_callback=elicitation,
            )
            self._client = await self._stack.enter_async_context(client)
        except Exception as error:
            await self._stack.aclose()
            where = self._url or " ".join([self._stdio.command, *self._stdio.args])
            raise PtcError(f"there is no connection to ptc ({where}): {_describe(error)}") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the connection, and the ptc that was started for it."""
        self._client = None
        await self._stack.__aexit__(kind, error, trace)

    @property
    def instructions(self) -> str:
        """What a model should be told once, as the system prompt."""
        return self._connected().instructions or ""

    async def run(
        self,
        code: str,
        *,
        data: Mapping[str, Any] | None = None,
        language: str | None = None,
        timeout: float | None = None,
        typecheck: Literal["error", "warn", "off"] | None = None,
        session: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> Run:
        """Runs a program. ``timeout`` is in seconds. Failures of the program are in the result.

        Raises ``PtcError`` for a program that was not run: its arguments are wrong, or too many run already. Cancelling the
        task cancels the program.
        """
        arguments: dict[str, Any] = {
            "code": code,
            "data": data,
            "language": language,
            "timeout_seconds": timeout,
            "typecheck": typecheck,
            "session": session,
        }
        given = {name: value for name, value in arguments.items() if value is not None}
        return await self._run(given, on_progress)

    async def resume(self, ticket: str, *, on_progress: OnProgress | None = None) -> Run:
        """Goes on with a run that waits, once its question is answered. What it has called stays called.

        Where nobody has answered yet, ``approve`` is asked. Raises ``PtcError`` where nothing waits under the ticket, or nobody
        answers.
        """
        if _TICKET.fullmatch(ticket) is None:
            raise PtcError("a ticket is 16 hexadecimal digits, as Run.waiting has it")
        return await self._run({"code": f"ticket {ticket}"}, on_progress)

    async def tools(self) -> list[ToolDefinition]:
        """ptc's tools for models: ``execute_program``, ``search_tools`` and the rest."""
        found: list[ToolDefinition] = []
        cursor: str | None = None
        while True:
            page = await self._connected().list_tools(cursor=cursor)
            for tool in page.tools:
                found.append(ToolDefinition(tool.name, tool.description or "", dict(tool.input_schema), tool.title))
            cursor = page.next_cursor
            if cursor is None:
                return found

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, on_progress: OnProgress | None = None
    ) -> Reply:
        """Calls one of ptc's tools with a model's arguments. A mistake of the model's is a reply that says so."""

        async def progress(progress: float, total: float | None, message: str | None) -> None:
            if on_progress is not None:
                on_progress(ProgressReport(progress, total, message))

        try:
            result = await self._connected().call_tool(
                name, dict(arguments or {}), progress_callback=None if on_progress is None else progress
            )
        except mcp.MCPError as error:
            raise PtcError(str(error)) from error
        return _reply_of(result)

    async def _run(self, arguments: Mapping[str, Any], on_progress: OnProgress | None) -> Run:
        reply = await self.call("execute_program", arguments, on_progress=on_progress)
        if reply.run is None:
            raise PtcError(" ".join(reply.text.split("\n")))
        return reply.run

    def _connected(self) -> mcp.Client:
        if self._client is None:
            raise PtcError("ptc is not connected; use it in `async with Ptc(...) as ptc:`")
        return self._client

    async def _elicit(self, context: Any, params: Any) -> Any:
        schema = getattr(params, "requested_schema", None) or {}
        question = Question(params.message, dict(schema.get("properties", {})))
        answer: Any = self._approve(question) if self._approve is not None else "later"
        if inspect.isawaitable(answer):
            answer = await answer
        if answer == "later":
            return mcp.types.ElicitResult(action="cancel")
        if answer is False:
            return mcp.types.ElicitResult(action="decline")
        return mcp.types.ElicitResult(action="accept", content={} if answer is True else dict(answer))


def _reply_of(result: Any) -> Reply:
    content = [block.model_dump(by_alias=True, exclude_none=True, mode="json") for block in result.content]
    text = "\n".join(block["text"] for block in content if block["type"] == "text")
    is_error = bool(result.is_error)
    meta = result.meta or {}
    envelope = meta.get("ptc/envelope")
    if envelope is None:
        return Reply(text, content, is_error)
    outcome = envelope["result"]
    waiting = meta.get("ptc/waiting")
    run = Run(
        ok=outcome["ok"],
        value=outcome.get("data"),
        error=outcome.get("error"),
        envelope=envelope,
        text=content[0]["text"] if content and content[0]["type"] == "text" else "",
        emitted=content[1 : 1 + _emitted_in(meta)],
        waiting=None
        if waiting is None
        else Waiting(waiting["ticket"], waiting["tool"], datetime.fromisoformat(waiting["expires_at"].replace("Z", "+00:00"))),
    )
    return Reply(text, content, is_error, run)


def _emitted_in(meta: Mapping[str, Any]) -> int:
    """How many of the blocks after the first the program has emitted."""
    return int(meta.get("ptc/emitted", 0))


def _describe(error: BaseException) -> str:
    """The first error of a group: those of task groups say nothing themselves."""
    inner = getattr(error, "exceptions", None)
    return _describe(inner[0]) if inner else (str(error) or type(error).__name__)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ptc-client")
    except PackageNotFoundError:
        return "0"
