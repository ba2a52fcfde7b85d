"""Tools of the MCP server "gitlab-ref". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from collections.abc import Mapping
from typing import Any

# ptc {"tool": "mcp__gitlab_ref__create_branch"}
@_either_way
async def create_branch(arguments: Mapping[str, Any] = ..., /, **others: Any) -> Any:
    """Create a new branch in a GitLab project"""

# ptc {"tool": "mcp__gitlab_ref__create_issue"}
@_either_way
async def create_issue(arguments: Mapping[str, Any] = ..., /, **others: Any) -> Any:
    """Create a new issue in a GitLab project"""
