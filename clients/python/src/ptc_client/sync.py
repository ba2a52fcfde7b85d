"""The same client without ``async``: the connection lives on a thread of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Literal

from anyio.from_thread import BlockingPortal, start_blocking_portal
from ptc_client.client import ApproveSync, OnProgress, Ptc, PtcError, Reply, Run, ToolDefinition


class PtcSync:
    """A connection to ptc, open in ``with``. Its arguments are those of ``Ptc``; callbacks run on the connection's thread."""

    def __init__(self, *, approve: ApproveSync | None = None, **connection: Any) -> None:
        self._ptc = Ptc(approve=approve, **connection)
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> PtcSync:
        """Connects. Raises ``PtcError`` when that cannot be done."""
        portal = self._stack.enter_context(start_blocking_portal())
        try:
            self._stack.enter_context(portal.wrap_async_context_manager(self._ptc))
        except BaseException:
            self._stack.close()
            raise
        self._portal = portal
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Ends the connection, and the ptc that was started for it."""
        self._portal = None
        self._stack.close()

    @property
    def instructions(self) -> str:
        """What a model should be told once, as the system prompt."""
        return self._ptc.instructions

    def run(
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
        """Runs a program, as ``Ptc.run`` does."""

        async def work() -> Run:
            return await self._ptc.run(
                code,
                data=data,
                language=language,
                timeout=timeout,
                typecheck=typecheck,
                session=session,
                on_progress=on_progress,
            )

        return self._connected().call(work)

    def resume(self, ticket: str, *, on_progress: OnProgress | None = None) -> Run:
        """Goes on with a run that waits, as ``Ptc.resume`` does."""

        async def work() -> Run:
            return await self._ptc.resume(ticket, on_progress=on_progress)

        return self._connected().call(work)

    def tools(self) -> list[ToolDefinition]:
        """ptc's tools for models."""
        return self._connected().call(self._ptc.tools)

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, *, on_progress: OnProgress | None = None) -> Reply:
        """Calls one of ptc's tools, as ``Ptc.call`` does."""

        async def work() -> Reply:
            return await self._ptc.call(name, arguments, on_progress=on_progress)

        return self._connected().call(work)

    def _connected(self) -> BlockingPortal:
        if self._portal is None:
            raise PtcError("ptc is not connected; use it in `with PtcSync(...) as ptc:`")
        return self._portal
