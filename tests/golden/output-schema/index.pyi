"""Tools of the MCP server "git-cyanheads". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, Literal, NotRequired, TypedDict, overload

class GitAddOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    stagedFiles: list[str]
    """Files that were successfully staged."""
    totalFiles: int
    """Total number of files staged."""
    status: GitAddOutputStatus
    """Repository status after staging files."""

class GitAddOutputStatus(TypedDict):
    current_branch: str | None
    """Current branch name after staging."""
    staged_changes: dict[str, Any]
    """All staged changes after this operation."""
    unstaged_changes: dict[str, Any]
    """Remaining unstaged changes."""
    untracked_files: list[str]
    """Remaining untracked files."""
    conflicted_files: list[str]
    """Files with conflicts."""
    is_clean: bool
    """Whether working directory is clean (ready to commit)."""

class GitAddInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    paths: NotRequired[list[str]]
    update: NotRequired[bool]
    all: NotRequired[bool]
    force: NotRequired[bool]

# ptc {"tool": "mcp__git_cyanheads__git_add", "input": "GitAddInput"}
@overload
@_either_way
async def git_add(
    *,
    path: str = ...,
    paths: list[str] = ...,
    update: bool = ...,
    all: bool = ...,
    force: bool = ...,
) -> GitAddOutput:
    """Stage files for commit. Add file contents to the staging area (index) to prepare for the next commit.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        paths: Array of file or directory paths to stage (relative to repository root). Use ["."] to stage all changes. Paths must not start with "-" — use "./-name" for filenames starting with a dash. Can be omitted when all or update is true.
            Items: File path (must not start with "-").
            Default: []
        update: Stage only modified and deleted files (skip untracked files).
            Default: false
        all: Include all items (varies by operation).
            Default: false
        force: Allow adding otherwise ignored files.
            Default: false
    """
@overload
@_either_way
async def git_add(arguments: GitAddInput, /) -> GitAddOutput: ...

class GitShowOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    object: str
    """Object identifier."""
    type: Literal["commit", "tag", "tree", "blob"]
    """Type of git object shown."""
    content: str
    """Formatted output showing the object details."""
    metadata: NotRequired[dict[str, Any]]
    """Additional metadata about the object."""

class GitShowInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    object: str
    format: NotRequired[Literal["raw"]]
    stat: NotRequired[bool]
    filePath: NotRequired[str]

# ptc {"tool": "mcp__git_cyanheads__git_show", "input": "GitShowInput"}
@overload
@_either_way
async def git_show(
    *,
    object: str,
    path: str = ...,
    format: Literal["raw"] = ...,
    stat: bool = ...,
    filePath: str = ...,
) -> GitShowOutput:
    """Show details of a git object (commit, tree, blob, or tag). Displays commit information and the diff of changes introduced.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        object: Git object to show (commit hash, branch, tag, tree, or blob).
        format: Output format for the git object. Use "raw" for unprocessed git output.
        stat: Show diffstat instead of full diff.
            Default: false
        filePath: View specific file at a given commit reference. When provided, shows the file content from the specified object. Must not start with "-".
    """
@overload
@_either_way
async def git_show(arguments: GitShowInput, /) -> GitShowOutput: ...
