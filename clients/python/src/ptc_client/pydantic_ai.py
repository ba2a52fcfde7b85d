"""ptc's tools for Pydantic AI (``pydantic-ai-slim``)."""

from __future__ import annotations

from typing import Any

from ptc_client.client import Ptc, ToolDefinition
from pydantic_ai import Tool


async def ptc_tools(ptc: Ptc) -> list[Tool[Any]]:
    """ptc's tools for ``Agent(tools=...)``. The model reads why a program failed."""
    return [_tool(ptc, definition) for definition in await ptc.tools()]


def _tool(ptc: Ptc, definition: ToolDefinition) -> Tool[Any]:
    async def call(**arguments: Any) -> str:
        return (await ptc.call(definition.name, arguments)).text

    return Tool.from_schema(
        call,
        name=definition.name,
        description=definition.description,
        json_schema=dict(definition.input_schema),
    )
