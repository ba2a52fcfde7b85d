"""ptc's tools for the OpenAI Agents SDK (``openai-agents``)."""

from __future__ import annotations

import json
from typing import Any

from agents import FunctionTool
from ptc_client.client import Ptc, ToolDefinition


async def ptc_tools(ptc: Ptc) -> list[FunctionTool]:
    """ptc's tools for ``Agent(tools=...)``. The model reads why a program failed."""
    return [_tool(ptc, definition) for definition in await ptc.tools()]


def _tool(ptc: Ptc, definition: ToolDefinition) -> FunctionTool:
    async def call(_context: Any, arguments: str) -> str:
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            return "the arguments are not JSON"
        return (await ptc.call(definition.name, given)).text

    return FunctionTool(
        name=definition.name,
        description=definition.description,
        params_json_schema=dict(definition.input_schema),
        on_invoke_tool=call,
        strict_json_schema=False,
    )
