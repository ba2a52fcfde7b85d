"""ptc from Python: programs that call many MCP tools, run in a sandbox, over ``ptc serve``."""

from ptc_client.client import (
    Approve,
    ApproveSync,
    Envelope,
    Failure,
    ProgressReport,
    Ptc,
    PtcError,
    Question,
    Reply,
    Run,
    ToolDefinition,
    Waiting,
)
from ptc_client.sync import PtcSync

__all__ = [
    "Approve",
    "ApproveSync",
    "Envelope",
    "Failure",
    "ProgressReport",
    "Ptc",
    "PtcError",
    "PtcSync",
    "Question",
    "Reply",
    "Run",
    "ToolDefinition",
    "Waiting",
]
