"""ptc's tools for LangChain and LangGraph (``langchain-core``)."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import StructuredTool, ToolException
from ptc_client.client import Ptc, Run, ToolDefinition
from ptc_client.sync import PtcSync


async def ptc_tools(ptc: Ptc) -> list[StructuredTool]:
    """ptc's tools, called with ``ainvoke``.

    The model reads why a program failed, in a message whose status is ``error``; the artifact of any other is the ``Run``.
    """
    return [_tool(ptc, definition) for definition in await ptc.tools()]


def ptc_tools_sync(ptc: PtcSync) -> list[StructuredTool]:
    """The same of a synchronous client, called with ``invoke``."""
    return [_tool_sync(ptc, definition) for definition in ptc.tools()]


def _tool(ptc: Ptc, definition: ToolDefinition) -> StructuredTool:
    async def call(**arguments: Any) -> tuple[str, Run | None]:
        reply = await ptc.call(definition.name, arguments)
        if reply.is_error:
            raise ToolException(reply.text)
        return reply.text, reply.run

    return StructuredTool(coroutine=call, **_described(definition))


def _tool_sync(ptc: PtcSync, definition: ToolDefinition) -> StructuredTool:
    def call(**arguments: Any) -> tuple[str, Run | None]:
        reply = ptc.call(definition.name, arguments)
        if reply.is_error:
            raise ToolException(reply.text)
        return reply.text, reply.run

    return StructuredTool(func=call, **_described(definition))


def _described(definition: ToolDefinition) -> dict[str, Any]:
    return {
        "name": definition.name,
        "description": definition.description,
        "args_schema": dict(definition.input_schema),
        "response_format": "content_and_artifact",
        "handle_tool_error": True,
    }
