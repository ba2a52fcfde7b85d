"""A git repository
Tools of the MCP server "git". Written by `ptc generate`: edits are lost.
"""

from servers import either_way_ as _either_way

from collections.abc import Mapping
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

# ptc {"tool": "mcp__git__git_add", "input": "GitAddInput"}
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

class GitBlameOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    filePath: str
    """The file that was blamed."""
    lines: list[GitBlameOutputLines]
    """Array of blame information for each line."""
    totalLines: int
    """Total number of lines in the output."""

class GitBlameOutputLines(TypedDict):
    lineNumber: int
    """Line number in the file (1-indexed)."""
    commitHash: str
    """Full commit hash of the last change to this line."""
    author: str
    """Author who last modified this line."""
    timestamp: int
    """Unix timestamp of the commit that last modified this line."""
    content: str
    """The actual content/text of this line."""

class GitBlameInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    filePath: str
    startLine: NotRequired[int]
    endLine: NotRequired[int]
    ignoreWhitespace: NotRequired[bool]

# ptc {"tool": "mcp__git__git_blame", "input": "GitBlameInput"}
@overload
@_either_way
async def git_blame(
    *,
    filePath: str,
    path: str = ...,
    startLine: int = ...,
    endLine: int = ...,
    ignoreWhitespace: bool = ...,
) -> GitBlameOutput:
    """Show line-by-line authorship information for a file, displaying who last modified each line and when. For large files, use startLine/endLine to limit output.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        filePath: Path to the file to blame (relative to repository root). Must not start with "-".
        startLine: Start line number (1-indexed).
        endLine: End line number (1-indexed).
        ignoreWhitespace: Ignore whitespace changes.
            Default: false
    """
@overload
@_either_way
async def git_blame(arguments: GitBlameInput, /) -> GitBlameOutput: ...

class GitBranchOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    mode: Literal["list", "create", "delete", "rename", "show-current"]
    branches: NotRequired[list[GitBranchOutputBranches]]
    """List of branches (for list mode)."""
    currentBranch: NotRequired[str]
    """Name of current branch."""
    message: NotRequired[str]
    """Success message for create/delete/rename modes."""

class GitBranchOutputBranches(TypedDict):
    name: str
    """Branch name."""
    current: bool
    """True if this is the current branch."""
    commitHash: str
    """Commit hash the branch points to."""
    upstream: NotRequired[str]
    """Upstream branch name if configured."""
    ahead: NotRequired[int]
    """Commits ahead of upstream."""
    behind: NotRequired[int]
    """Commits behind upstream."""

class GitBranchInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    mode: NotRequired[Literal["list", "create", "delete", "rename", "show-current"]]
    branchName: NotRequired[str]
    newBranchName: NotRequired[str]
    startPoint: NotRequired[str]
    force: NotRequired[bool]
    all: NotRequired[bool]
    remote: NotRequired[bool]
    merged: NotRequired[bool | str]
    noMerged: NotRequired[bool | str]
    limit: NotRequired[int]

# ptc {"tool": "mcp__git__git_branch", "input": "GitBranchInput"}
@overload
@_either_way
async def git_branch(
    *,
    path: str = ...,
    mode: Literal["list", "create", "delete", "rename", "show-current"] = ...,
    branchName: str = ...,
    newBranchName: str = ...,
    startPoint: str = ...,
    force: bool = ...,
    all: bool = ...,
    remote: bool = ...,
    merged: bool | str = ...,
    noMerged: bool | str = ...,
    limit: int = ...,
) -> GitBranchOutput:
    """Manage branches: list all branches, show current branch, create a new branch, delete a branch, or rename a branch.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        mode: The branch operation to perform.
            Default: "list\"
        branchName: Branch name for create/delete/rename operations.
        newBranchName: New branch name for rename operation.
        startPoint: Starting point (commit/branch) for new branch creation.
        force: Force the operation, bypassing safety checks.
            Default: false
        all: For list mode: show both local and remote branches.
            Default: false
        remote: For list mode: show only remote branches.
            Default: false
        merged: For list mode: show only branches merged into HEAD (true) or specified commit (string).
            Commit reference: full/short hash, branch name, tag name, or relative ref (HEAD~1). Must not start with "-".
        noMerged: For list mode: show only branches not merged into HEAD (true) or specified commit (string).
            Commit reference: full/short hash, branch name, tag name, or relative ref (HEAD~1). Must not start with "-".
        limit: For list mode: cap the number of branches returned (applied at the git command). Use on repos with many branches.
    """
@overload
@_either_way
async def git_branch(arguments: GitBranchInput, /) -> GitBranchOutput: ...

class GitChangelogAnalyzeOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    reviewTypes: list[Literal["security", "features", "storyline", "gaps", "breaking_changes", "quality"]]
    """Review types that were requested."""
    gitContext: GitChangelogAnalyzeOutputGitContext
    """Git history context for changelog cross-referencing."""
    reviewInstructions: str
    """Analysis instructions for each requested review type. Guides the LLM on what to look for in the changelog."""

class GitChangelogAnalyzeOutputGitContext(TypedDict):
    currentBranch: str | None
    """Current branch name."""
    totalCommitsFetched: int
    """Number of commits returned."""
    commits: list[GitChangelogAnalyzeOutputGitContextCommits]
    """Recent commits for cross-referencing."""
    tags: list[GitChangelogAnalyzeOutputGitContextTags]
    """Repository tags for release context."""

class GitChangelogAnalyzeOutputGitContextCommits(TypedDict):
    hash: str
    """Short commit hash."""
    subject: str
    """Commit subject line."""
    author: str
    """Commit author."""
    timestamp: int
    """Unix timestamp."""
    refs: NotRequired[list[str]]
    """Tags or branches at this commit."""

class GitChangelogAnalyzeOutputGitContextTags(TypedDict):
    name: str
    """Tag name."""
    commit: str
    """Commit hash the tag points to."""
    timestamp: NotRequired[int]
    """Tag creation timestamp."""
    message: NotRequired[str]
    """Annotated tag message."""

class GitChangelogAnalyzeInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    reviewTypes: list[Literal["security", "features", "storyline", "gaps", "breaking_changes", "quality"]]
    maxCommits: NotRequired[int]
    maxTags: NotRequired[int]
    sinceTag: NotRequired[str]
    branch: NotRequired[str]

# ptc {"tool": "mcp__git__git_changelog_analyze", "input": "GitChangelogAnalyzeInput"}
@overload
@_either_way
async def git_changelog_analyze(
    *,
    reviewTypes: list[Literal["security", "features", "storyline", "gaps", "breaking_changes", "quality"]],
    path: str = ...,
    maxCommits: int = ...,
    maxTags: int = ...,
    sinceTag: str = ...,
    branch: str = ...,
) -> GitChangelogAnalyzeOutput:
    """Gather git history context (commits, tags) and structured review instructions to support LLM-driven changelog analysis. Changelog file should be read separately; this tool provides the supporting git data and analysis framework. Pass one or more review types to control what kind of analysis to perform.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        reviewTypes: Types of changelog review to perform. At least one required. Options: security, features, storyline, gaps, breaking_changes, quality.
        maxCommits: Maximum recent commits to fetch for cross-referencing (1-1000).
            Default: 200
        maxTags: Maximum recent tags to fetch for release context (1-1000). Applied at the git command so large tag catalogs do not bloat the response.
            Default: 100
        sinceTag: Only include git history since this tag (e.g., "v1.2.0"). Narrows the analysis window. Must not start with "-".
        branch: Branch to analyze (defaults to current branch).
    """
@overload
@_either_way
async def git_changelog_analyze(arguments: GitChangelogAnalyzeInput, /) -> GitChangelogAnalyzeOutput: ...

class GitCheckoutOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    target: str
    """Checked out branch or commit."""
    branchCreated: bool
    """True if a new branch was created."""
    filesModified: list[str]
    """Files that were modified during checkout."""

class GitCheckoutInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    target: str
    createBranch: NotRequired[bool]
    force: NotRequired[bool]
    paths: NotRequired[list[str]]
    track: NotRequired[bool]

# ptc {"tool": "mcp__git__git_checkout", "input": "GitCheckoutInput"}
@overload
@_either_way
async def git_checkout(
    *,
    target: str,
    path: str = ...,
    createBranch: bool = ...,
    force: bool = ...,
    paths: list[str] = ...,
    track: bool = ...,
) -> GitCheckoutOutput:
    """Switch branches or restore working tree files. Can checkout an existing branch, create a new branch, or restore specific files.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        target: Branch name, commit hash, or tag to checkout.
            - Branch name (must follow git naming conventions, no leading "-").
            - Commit reference: full/short hash, branch name, tag name, or relative ref (HEAD~1). Must not start with "-".
        createBranch: Create a new branch with the specified name.
            Default: false
        force: Force the operation, bypassing safety checks.
            Default: false
        paths: Specific file paths to checkout/restore (relative to repository root). Entries must not start with "-".
            Items: File path (must not start with "-").
        track: Set up tracking relationship with remote branch when creating new branch.
    """
@overload
@_either_way
async def git_checkout(arguments: GitCheckoutInput, /) -> GitCheckoutOutput: ...

class GitCherryPickOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    pickedCommits: list[str]
    """Commits that were successfully cherry-picked."""
    conflicts: bool
    """Whether operation had conflicts."""
    conflictedFiles: list[str]
    """Files with conflicts that need resolution."""
    message: NotRequired[str]
    """Human-readable next-step guidance, especially for conflicts."""

class GitCherryPickInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    commits: list[str]
    noCommit: NotRequired[bool]
    continueOperation: NotRequired[bool]
    abort: NotRequired[bool]
    mainline: NotRequired[int]
    strategy: NotRequired[Literal["ort", "recursive", "octopus", "ours", "subtree"]]
    signoff: NotRequired[bool]

# ptc {"tool": "mcp__git__git_cherry_pick", "input": "GitCherryPickInput"}
@overload
@_either_way
async def git_cherry_pick(
    *,
    commits: list[str],
    path: str = ...,
    noCommit: bool = ...,
    continueOperation: bool = ...,
    abort: bool = ...,
    mainline: int = ...,
    strategy: Literal["ort", "recursive", "octopus", "ours", "subtree"] = ...,
    signoff: bool = ...,
) -> GitCherryPickOutput:
    """Cherry-pick commits from other branches. Apply specific commits to the current branch without merging entire branches.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        commits: Commit hashes to cherry-pick.
            Items: Commit reference: full/short hash, branch name, tag name, or relative ref (HEAD~1). Must not start with "-".
        noCommit: Don't create commit (stage changes only).
            Default: false
        continueOperation: Continue cherry-pick after resolving conflicts.
            Default: false
        abort: Abort cherry-pick operation.
            Default: false
        mainline: For merge commits, specify which parent to follow (1 for first parent, 2 for second, etc.).
        strategy: Merge strategy to use for cherry-pick.
        signoff: Add Signed-off-by line to the commit message.
            Default: false
    """
@overload
@_either_way
async def git_cherry_pick(arguments: GitCherryPickInput, /) -> GitCherryPickOutput: ...

class GitCleanOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    filesRemoved: list[str]
    """List of files that were removed."""
    directoriesRemoved: list[str]
    """List of directories that were removed."""
    dryRun: bool
    """Whether this was a dry-run (preview only)."""

class GitCleanInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    force: NotRequired[bool]
    dryRun: NotRequired[bool]
    directories: NotRequired[bool]
    ignored: NotRequired[bool]

# ptc {"tool": "mcp__git__git_clean", "input": "GitCleanInput"}
@overload
@_either_way
async def git_clean(
    *,
    path: str = ...,
    force: bool = ...,
    dryRun: bool = ...,
    directories: bool = ...,
    ignored: bool = ...,
) -> GitCleanOutput:
    """Remove untracked files from the working directory. Requires force flag for safety. Use dry-run to preview files that would be removed.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        force: Force the operation, bypassing safety checks.
            Default: false
        dryRun: Preview the operation without executing it.
            Default: false
        directories: Remove untracked directories in addition to files.
            Default: false
        ignored: Remove ignored files as well.
            Default: false
    """
@overload
@_either_way
async def git_clean(arguments: GitCleanInput, /) -> GitCleanOutput: ...

class GitClearWorkingDirOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    message: str
    """Confirmation message."""
    previousPath: NotRequired[str]
    """The working directory that was cleared (if one was set)."""

class GitClearWorkingDirInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    confirm: Literal["Y", "y", "Yes", "yes"]

# ptc {"tool": "mcp__git__git_clear_working_dir", "input": "GitClearWorkingDirInput"}
@overload
@_either_way
async def git_clear_working_dir(
    *,
    confirm: Literal["Y", "y", "Yes", "yes"],
) -> GitClearWorkingDirOutput:
    """Clear the session working directory setting. This resets the context without restarting the server. Subsequent git operations will require an explicit path parameter unless git_set_working_dir is called again.

    Args:
        confirm: Explicit confirmation required to clear working directory. Accepted values: 'Y', 'y', 'Yes', or 'yes'.
    """
@overload
@_either_way
async def git_clear_working_dir(arguments: GitClearWorkingDirInput, /) -> GitClearWorkingDirOutput: ...

class GitCloneOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    remoteUrl: str
    """The remote URL or path that was cloned."""
    path: str
    """Local path where repository was cloned."""
    branch: str
    """The branch that was checked out."""
    commitHash: NotRequired[str]
    """Current HEAD commit hash."""

class GitCloneInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    url: str
    path: str
    branch: NotRequired[str]
    depth: NotRequired[int]
    bare: NotRequired[bool]
    mirror: NotRequired[bool]

# ptc {"tool": "mcp__git__git_clone", "input": "GitCloneInput"}
@overload
@_either_way
async def git_clone(
    *,
    url: str,
    path: str,
    branch: str = ...,
    depth: int = ...,
    bare: bool = ...,
    mirror: bool = ...,
) -> GitCloneOutput:
    """Clone a repository from a remote URL or local path. Accepts HTTP(S), SSH, git://, file://, and bare filesystem paths, with optional shallow cloning.

    Args:
        url: Git repository URL: HTTP(S), SSH (ssh://… or user@host:path), git://, file://, or an absolute filesystem path. Must not start with "-" and no segment may start with "-".
        path: Destination path where the repository should be cloned. Must not start with "-".
        branch: Specific branch to clone (defaults to remote HEAD). Must not start with "-".
        depth: Create a shallow clone with history truncated to N commits.
        bare: Create a bare repository (no working directory).
            Default: false
        mirror: Create a mirror clone (implies bare).
            Default: false
    """
@overload
@_either_way
async def git_clone(arguments: GitCloneInput, /) -> GitCloneOutput: ...

class GitCommitOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    commitHash: str
    """SHA-1 hash of the created commit."""
    message: str
    """The commit message."""
    author: str
    """Author of the commit."""
    timestamp: int
    """Unix timestamp when the commit was created."""
    filesChanged: NotRequired[int]
    """Number of files changed in this commit."""
    committedFiles: list[str]
    """List of files that were committed."""
    insertions: NotRequired[int]
    """Number of line insertions."""
    deletions: NotRequired[int]
    """Number of line deletions."""
    signed: bool
    """Whether the commit was signed. False when GIT_SIGN_COMMITS=false or when signing was attempted and fell back to unsigned on failure."""
    signingWarning: NotRequired[str]
    """Populated only when signing was requested but failed, and the commit was created unsigned as a fallback."""
    status: GitCommitOutputStatus
    """Repository status after the commit."""

class GitCommitOutputStatus(TypedDict):
    current_branch: str | None
    """Current branch name after commit."""
    staged_changes: dict[str, Any]
    """Remaining staged changes after commit."""
    unstaged_changes: dict[str, Any]
    """Unstaged changes after commit."""
    untracked_files: list[str]
    """Untracked files after commit."""
    conflicted_files: list[str]
    """Conflicted files after commit."""
    is_clean: bool
    """Whether working directory is clean."""

class GitCommitAuthor(TypedDict):
    name: str
    """Author's name"""
    email: str
    """Author's email address (e.g. user@example.com)."""

class GitCommitInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    message: str
    author: NotRequired[GitCommitAuthor]
    amend: NotRequired[bool]
    allowEmpty: NotRequired[bool]
    noVerify: NotRequired[bool]
    filesToStage: NotRequired[list[str]]

# ptc {"tool": "mcp__git__git_commit", "input": "GitCommitInput"}
@overload
@_either_way
async def git_commit(
    *,
    message: str,
    path: str = ...,
    author: GitCommitAuthor = ...,
    amend: bool = ...,
    allowEmpty: bool = ...,
    noVerify: bool = ...,
    filesToStage: list[str] = ...,
) -> GitCommitOutput:
    """Create a new commit with staged changes in the repository. Records a snapshot of the staging area with a commit message.

    **Commit Message Format:**
    Pass commit messages as JSON string parameters. Multi-line messages are supported using standard JSON string escaping.

    **Examples:**
    - Single line: { "message": "feat: add user authentication" }
    - Multi-line: { "message": "feat: add user authentication\\n\\nImplemented OAuth2 flow with JWT tokens.\\nAdded tests for login and logout." }

    Note: Do not use bash heredoc syntax. Literal escape sequences (\\n, \\t) in the message string are automatically normalized to their actual characters.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        message: Commit message.
        author: Override commit author (defaults to git config).
        amend: Amend the previous commit instead of creating a new one. Use with caution.
            Default: false
        allowEmpty: Allow creating a commit with no changes.
            Default: false
        noVerify: Bypass pre-commit and commit-msg hooks.
            Default: false
        filesToStage: File paths to stage before committing (atomic stage+commit operation). Entries must not start with "-".
            Items: File path (must not start with "-").
    """
@overload
@_either_way
async def git_commit(arguments: GitCommitInput, /) -> GitCommitOutput: ...

class GitDiffOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    diff: str
    """The diff output in unified diff format."""
    filesChanged: int
    """Number of files with differences."""
    insertions: NotRequired[int]
    """Total number of line insertions."""
    deletions: NotRequired[int]
    """Total number of line deletions."""
    excludedFiles: NotRequired[list[str]]
    """Files that were automatically excluded from the diff (e.g., lock files). Call again with autoExclude=false to include them."""

class GitDiffInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    target: NotRequired[str]
    source: NotRequired[str]
    paths: NotRequired[list[str]]
    staged: NotRequired[bool]
    includeUntracked: NotRequired[bool]
    nameOnly: NotRequired[bool]
    stat: NotRequired[bool]
    contextLines: NotRequired[int]
    autoExclude: NotRequired[bool]

# ptc {"tool": "mcp__git__git_diff", "input": "GitDiffInput"}
@overload
@_either_way
async def git_diff(
    *,
    path: str = ...,
    target: str = ...,
    source: str = ...,
    paths: list[str] = ...,
    staged: bool = ...,
    includeUntracked: bool = ...,
    nameOnly: bool = ...,
    stat: bool = ...,
    contextLines: int = ...,
    autoExclude: bool = ...,
) -> GitDiffOutput:
    """View differences between commits, branches, or working tree. Shows changes in unified diff format.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        target: Target commit/branch to compare against. If not specified, shows unstaged changes in working tree.
        source: Source commit/branch to compare from. If target is specified but not source, compares target against working tree.
        paths: Limit diff to specific file paths (relative to repository root). Entries must not start with "-".
            Items: File path (must not start with "-").
        staged: Show diff of staged changes instead of unstaged.
            Default: false
        includeUntracked: Include untracked files in the diff. Useful for reviewing all upcoming changes.
            Default: false
        nameOnly: Show only names of changed files, not the diff content.
            Default: false
        stat: Show diffstat (summary of changes) instead of full diff content.
            Default: false
        contextLines: Number of context lines to show around changes.
            Default: 3
        autoExclude: Automatically exclude lock files and other generated files (e.g., package-lock.json, yarn.lock, bun.lock, poetry.lock, go.sum) from diff output to reduce context bloat. Set to false if you need to inspect these files.
            Default: true
    """
@overload
@_either_way
async def git_diff(arguments: GitDiffInput, /) -> GitDiffOutput: ...

class GitFetchOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    remote: str
    """Remote name that was fetched from."""
    fetchedRefs: list[str]
    """References that were fetched from the remote."""
    prunedRefs: list[str]
    """References that were pruned (deleted locally)."""

class GitFetchInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    remote: NotRequired[str]
    prune: NotRequired[bool]
    tags: NotRequired[bool]
    depth: NotRequired[int]

# ptc {"tool": "mcp__git__git_fetch", "input": "GitFetchInput"}
@overload
@_either_way
async def git_fetch(
    *,
    path: str = ...,
    remote: str = ...,
    prune: bool = ...,
    tags: bool = ...,
    depth: int = ...,
) -> GitFetchOutput:
    """Fetch updates from a remote repository. Downloads objects and refs without merging them.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        remote: Remote name (default: origin).
        prune: Prune remote-tracking references that no longer exist on remote.
            Default: false
        tags: Fetch all tags from the remote.
            Default: false
        depth: Create a shallow clone with history truncated to N commits.
    """
@overload
@_either_way
async def git_fetch(arguments: GitFetchInput, /) -> GitFetchOutput: ...

class GitInitOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    path: str
    """Path where repository was initialized."""
    initialBranch: str
    """Name of the initial branch."""
    isBare: bool
    """Whether this is a bare repository."""

class GitInitInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    initialBranch: NotRequired[str]
    bare: NotRequired[bool]

# ptc {"tool": "mcp__git__git_init", "input": "GitInitInput"}
@overload
@_either_way
async def git_init(
    *,
    path: str = ...,
    initialBranch: str = ...,
    bare: bool = ...,
) -> GitInitOutput:
    """Initialize a new Git repository at the specified path. Creates a .git directory and sets up the initial branch.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        initialBranch: Name of the initial branch (default: main).
        bare: Create a bare repository (no working directory).
            Default: false
    """
@overload
@_either_way
async def git_init(arguments: GitInitInput, /) -> GitInitOutput: ...

class GitLogOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    commits: list[GitLogOutputCommits]
    """Array of commit objects."""
    totalCount: int
    """Total number of commits returned (may be limited by maxCount)."""
    note: NotRequired[str]
    """Set when filters returned zero commits. Echoes the criteria and suggests broadening so callers can self-correct without inspecting the request."""

class GitLogOutputCommits(TypedDict):
    hash: str
    """Full commit SHA-1 hash."""
    shortHash: str
    """Abbreviated commit hash (7 characters)."""
    author: NotRequired[str]
    """Commit author name."""
    authorEmail: NotRequired[str]
    """Commit author email."""
    timestamp: NotRequired[int]
    """Commit timestamp (Unix timestamp)."""
    subject: str
    """First line of the commit message."""
    body: NotRequired[str]
    """Commit message body (if present)."""
    parents: NotRequired[list[str]]
    """Parent commit hashes."""
    refs: NotRequired[list[str]]
    """References (branches, tags) pointing to this commit."""
    stat: NotRequired[str]
    """File change statistics (when stat option is used)."""
    patch: NotRequired[str]
    """Full diff patch (when patch option is used)."""

class GitLogInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    maxCount: NotRequired[int]
    skip: NotRequired[int]
    since: NotRequired[str]
    until: NotRequired[str]
    author: NotRequired[str]
    grep: NotRequired[str]
    branch: NotRequired[str]
    filePath: NotRequired[str]
    oneline: NotRequired[bool]
    stat: NotRequired[bool]
    patch: NotRequired[bool]
    showSignature: NotRequired[bool]

# ptc {"tool": "mcp__git__git_log", "input": "GitLogInput"}
@overload
@_either_way
async def git_log(
    *,
    path: str = ...,
    maxCount: int = ...,
    skip: int = ...,
    since: str = ...,
    until: str = ...,
    author: str = ...,
    grep: str = ...,
    branch: str = ...,
    filePath: str = ...,
    oneline: bool = ...,
    stat: bool = ...,
    patch: bool = ...,
    showSignature: bool = ...,
) -> GitLogOutput:
    """View commit history with optional filtering by author, date range, file path, or commit message pattern.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        maxCount: Maximum number of items to return (1-1000).
            Default: 10
        skip: Number of items to skip for pagination.
        since: Show commits more recent than a specific date (ISO 8601 format).
        until: Show commits older than a specific date (ISO 8601 format).
        author: Filter commits by author name or email pattern.
        grep: Filter commits by message pattern (regex supported).
        branch: Show commits from a specific branch or ref (defaults to current branch).
        filePath: Show commits that affected a specific file path. Must not start with "-".
        oneline: Abbreviated output: return only hash, shortHash, and subject per commit. Significantly reduces response size.
            Default: false
        stat: Include file change statistics for each commit.
            Default: false
        patch: Include the full diff patch for each commit.
            Default: false
        showSignature: Show GPG signature verification information for each commit.
            Default: false
    """
@overload
@_either_way
async def git_log(arguments: GitLogInput, /) -> GitLogOutput: ...

class GitMergeOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    strategy: str
    """Merge strategy used."""
    fastForward: bool
    """Whether merge was fast-forward."""
    conflicts: bool
    """Whether merge had conflicts."""
    conflictedFiles: list[str]
    """Files with conflicts that need resolution."""
    mergedFiles: list[str]
    """Files that were merged."""
    message: str
    """Merge commit message."""

class GitMergeInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    branch: str
    strategy: NotRequired[Literal["ort", "recursive", "octopus", "ours", "subtree"]]
    noFastForward: NotRequired[bool]
    squash: NotRequired[bool]
    message: NotRequired[str]
    abort: NotRequired[bool]

# ptc {"tool": "mcp__git__git_merge", "input": "GitMergeInput"}
@overload
@_either_way
async def git_merge(
    *,
    branch: str,
    path: str = ...,
    strategy: Literal["ort", "recursive", "octopus", "ours", "subtree"] = ...,
    noFastForward: bool = ...,
    squash: bool = ...,
    message: str = ...,
    abort: bool = ...,
) -> GitMergeOutput:
    """Merge branches together. Integrates changes from another branch into the current branch with optional merge strategies.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        branch: Branch to merge into current branch.
        strategy: Merge strategy to use (ort, recursive, octopus, ours, subtree).
        noFastForward: Prevent fast-forward merge (create merge commit).
            Default: false
        squash: Squash all commits from the branch into a single commit.
            Default: false
        message: Custom merge commit message.
        abort: Abort an in-progress merge that has conflicts.
            Default: false
    """
@overload
@_either_way
async def git_merge(arguments: GitMergeInput, /) -> GitMergeOutput: ...

class GitPullOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    remote: str
    """Remote name that was pulled from."""
    branch: str
    """Branch that was pulled."""
    strategy: Literal["merge", "rebase", "fast-forward"]
    """Integration strategy used."""
    conflicts: bool
    """Whether pull had conflicts."""
    conflictedFiles: list[str]
    """Files with conflicts that need resolution (empty if conflicts is false)."""
    filesChanged: list[str]
    """Files that were changed."""

class GitPullInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    remote: NotRequired[str]
    branch: NotRequired[str]
    rebase: NotRequired[bool]
    fastForwardOnly: NotRequired[bool]

# ptc {"tool": "mcp__git__git_pull", "input": "GitPullInput"}
@overload
@_either_way
async def git_pull(
    *,
    path: str = ...,
    remote: str = ...,
    branch: str = ...,
    rebase: bool = ...,
    fastForwardOnly: bool = ...,
) -> GitPullOutput:
    """Pull changes from a remote repository. Fetches and integrates changes into the current branch.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        remote: Remote name (default: origin).
        branch: Branch name (default: current branch).
        rebase: Use rebase instead of merge when integrating changes.
            Default: false
        fastForwardOnly: Fail if can't fast-forward (no merge commit).
            Default: false
    """
@overload
@_either_way
async def git_pull(arguments: GitPullInput, /) -> GitPullOutput: ...

class GitPushOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    remote: str
    """Remote name that was pushed to."""
    branch: str
    """Branch that was pushed."""
    upstreamSet: bool
    """Whether upstream tracking was set for the branch."""
    pushedRefs: list[str]
    """References that were successfully pushed."""
    rejectedRefs: list[str]
    """References that were rejected by the remote."""

class GitPushInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    remote: NotRequired[str]
    branch: NotRequired[str]
    force: NotRequired[bool]
    forceWithLease: NotRequired[bool]
    setUpstream: NotRequired[bool]
    tags: NotRequired[bool]
    dryRun: NotRequired[bool]
    delete: NotRequired[bool]
    remoteBranch: NotRequired[str]
    confirmed: NotRequired[bool]

# ptc {"tool": "mcp__git__git_push", "input": "GitPushInput"}
@overload
@_either_way
async def git_push(
    *,
    path: str = ...,
    remote: str = ...,
    branch: str = ...,
    force: bool = ...,
    forceWithLease: bool = ...,
    setUpstream: bool = ...,
    tags: bool = ...,
    dryRun: bool = ...,
    delete: bool = ...,
    remoteBranch: str = ...,
    confirmed: bool = ...,
) -> GitPushOutput:
    """Push changes to a remote repository. Uploads local commits to the remote branch.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        remote: Remote name (default: origin).
        branch: Branch name (default: current branch).
        force: Force push (overwrites remote history).
            Default: false
        forceWithLease: Safer force push - only succeeds if remote branch is at expected state.
            Default: false
        setUpstream: Set upstream tracking relationship for the branch.
            Default: false
        tags: Push all tags to the remote.
            Default: false
        dryRun: Preview the operation without executing it.
            Default: false
        delete: Delete the specified remote branch.
            Default: false
        remoteBranch: Remote branch name to push to (if different from local branch name).
        confirmed: Explicit confirmation required for force push or branch deletion on protected branches (main, master, production, etc.).
            Default: false
    """
@overload
@_either_way
async def git_push(arguments: GitPushInput, /) -> GitPushOutput: ...

class GitRebaseOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    conflicts: bool
    """Whether rebase had conflicts."""
    conflictedFiles: list[str]
    """Files with conflicts that need resolution."""
    rebasedCommits: int
    """Number of commits that were rebased."""
    currentCommit: NotRequired[str]
    """Current commit hash if rebase stopped due to conflict."""
    message: NotRequired[str]
    """Human-readable next-step guidance, especially for conflicts."""

class GitRebaseInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    mode: NotRequired[Literal["start", "continue", "abort", "skip"]]
    upstream: NotRequired[str]
    branch: NotRequired[str]
    interactive: NotRequired[bool]
    onto: NotRequired[str]
    preserve: NotRequired[bool]

# ptc {"tool": "mcp__git__git_rebase", "input": "GitRebaseInput"}
@overload
@_either_way
async def git_rebase(
    *,
    path: str = ...,
    mode: Literal["start", "continue", "abort", "skip"] = ...,
    upstream: str = ...,
    branch: str = ...,
    interactive: bool = ...,
    onto: str = ...,
    preserve: bool = ...,
) -> GitRebaseOutput:
    """Rebase commits onto another branch. Reapplies commits on top of another base tip for a cleaner history.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        mode: Rebase operation mode: 'start', 'continue', 'abort', or 'skip'.
            Default: "start\"
        upstream: Upstream branch to rebase onto (required for start mode).
        branch: Branch to rebase (default: current branch).
        interactive: Interactive rebase (not supported in all providers).
            Default: false
        onto: Rebase onto different commit than upstream.
        preserve: Preserve merge commits during rebase.
            Default: false
    """
@overload
@_either_way
async def git_rebase(arguments: GitRebaseInput, /) -> GitRebaseOutput: ...

class GitReflogOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    ref: str
    """The reference that was queried."""
    entries: list[GitReflogOutputEntries]
    """Array of reflog entries in reverse chronological order."""
    totalEntries: int
    """Total number of reflog entries."""

class GitReflogOutputEntries(TypedDict):
    hash: str
    """Commit hash for this reflog entry."""
    refName: str
    """Reference name (e.g., HEAD@{0}, main@{1})."""
    action: str
    """Action that caused this reflog entry (commit, checkout, etc.)."""
    message: str
    """Detailed message describing the action."""
    timestamp: int
    """Unix timestamp when this action occurred."""

class GitReflogInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    ref: NotRequired[str]
    maxCount: NotRequired[int]

# ptc {"tool": "mcp__git__git_reflog", "input": "GitReflogInput"}
@overload
@_either_way
async def git_reflog(
    *,
    path: str = ...,
    ref: str = ...,
    maxCount: int = ...,
) -> GitReflogOutput:
    """View the reference logs (reflog) to track when branch tips and other references were updated. Useful for recovering lost commits.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        ref: Reference whose reflog to show. Defaults to HEAD. Must not start with "-".
        maxCount: Maximum number of items to return (1-1000).
            Default: 25
    """
@overload
@_either_way
async def git_reflog(arguments: GitReflogInput, /) -> GitReflogOutput: ...

class GitRemoteOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    mode: str
    """Operation mode that was performed."""
    remotes: NotRequired[list[GitRemoteOutputRemotes]]
    """List of remotes (for list mode)."""
    url: NotRequired[str]
    """Remote URL (for get-url mode)."""
    added: NotRequired[GitRemoteOutputAdded]
    """Added remote (for add mode)."""
    removed: NotRequired[str]
    """Removed remote name (for remove mode)."""
    renamed: NotRequired[GitRemoteOutputRenamed]
    """Rename information (for rename mode)."""

class GitRemoteOutputRemotes(TypedDict):
    name: str
    """Remote name."""
    fetchUrl: str
    """Fetch URL."""
    pushUrl: str
    """Push URL (may differ from fetch URL)."""

class GitRemoteOutputAdded(TypedDict):
    name: str
    url: str

GitRemoteOutputRenamed = TypedDict(
    "GitRemoteOutputRenamed",
    {
        "from": str,
        "to": str,
    },
)

class GitRemoteInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    mode: NotRequired[Literal["list", "add", "remove", "rename", "get-url", "set-url"]]
    name: NotRequired[str]
    url: NotRequired[str]
    newName: NotRequired[str]
    push: NotRequired[bool]

# ptc {"tool": "mcp__git__git_remote", "input": "GitRemoteInput"}
@overload
@_either_way
async def git_remote(
    *,
    path: str = ...,
    mode: Literal["list", "add", "remove", "rename", "get-url", "set-url"] = ...,
    name: str = ...,
    url: str = ...,
    newName: str = ...,
    push: bool = ...,
) -> GitRemoteOutput:
    """Manage remote repositories: list remotes, add new remotes, remove remotes, rename remotes, or get/set remote URLs.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        mode: The remote operation to perform.
            Default: "list\"
        name: Remote name for add/remove/rename/get-url/set-url operations.
        url: Remote URL for add/set-url operations. Accepts HTTP(S), SSH (ssh://… or user@host:path), git://, or file:// URLs. Must not start with "-".
        newName: New remote name for rename operation.
        push: Set push URL separately (for set-url operation).
            Default: false
    """
@overload
@_either_way
async def git_remote(arguments: GitRemoteInput, /) -> GitRemoteOutput: ...

class GitResetOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    mode: str
    """Reset mode that was used."""
    target: str
    """Commit hash HEAD points to after the reset."""
    previousCommit: NotRequired[str]
    """Commit hash HEAD pointed to before the reset (omitted if HEAD did not move)."""
    filesReset: list[str]
    """Files affected by the reset. For path-only resets, the listed paths. For commit-move resets, files that differ between the old and new HEAD. For --hard with no HEAD move, files whose pending working-tree changes were discarded."""

class GitResetInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    mode: NotRequired[Literal["soft", "mixed", "hard", "merge", "keep"]]
    target: NotRequired[str]
    paths: NotRequired[list[str]]
    confirmed: NotRequired[bool]

# ptc {"tool": "mcp__git__git_reset", "input": "GitResetInput"}
@overload
@_either_way
async def git_reset(
    *,
    path: str = ...,
    mode: Literal["soft", "mixed", "hard", "merge", "keep"] = ...,
    target: str = ...,
    paths: list[str] = ...,
    confirmed: bool = ...,
) -> GitResetOutput:
    """Reset current HEAD to specified state. Can be used to unstage files (soft), discard commits (mixed), or discard all changes (hard).

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        mode: Reset mode: soft (keep changes staged), mixed (unstage changes), hard (discard all changes), merge (reset and merge), keep (reset but keep local changes).
            Default: "mixed\"
        target: Target commit to reset to. Defaults to HEAD.
        paths: Specific file paths to reset (leaves HEAD unchanged). Entries must not start with "-".
            Items: File path (must not start with "-").
        confirmed: Explicit confirmation required for hard, merge, and keep reset modes on protected branches (main, master, production, etc.).
            Default: false
    """
@overload
@_either_way
async def git_reset(arguments: GitResetInput, /) -> GitResetOutput: ...

class GitSetWorkingDirOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    path: str
    """The working directory that was set."""
    message: str
    """Confirmation message."""
    repository: NotRequired[GitSetWorkingDirOutputRepository]
    """Best-effort repository snapshot. Omitted when the path is not a git repository (see enrichmentWarnings)."""
    enrichmentWarnings: NotRequired[list[str]]
    """Actionable notes when snapshot gathering was skipped or partially failed."""

class GitSetWorkingDirOutputRepository(TypedDict):
    status: GitSetWorkingDirOutputRepositoryStatus
    recentCommits: list[GitSetWorkingDirOutputRepositoryRecentCommits]
    """Up to 2 most recent commits on the current branch."""
    recentTags: list[GitSetWorkingDirOutputRepositoryRecentTags]
    """Up to 2 most recent tags by creator date."""
    remotes: list[GitSetWorkingDirOutputRepositoryRemotes]
    """Configured remote repositories."""

class GitSetWorkingDirOutputRepositoryStatus(TypedDict):
    branch: str | None
    """Current branch (null on detached HEAD)."""
    isClean: bool
    """True when the working tree has no changes."""
    staged: list[str]
    """Paths staged for the next commit."""
    unstaged: list[str]
    """Paths with unstaged modifications."""
    untracked: list[str]
    """Untracked paths."""
    conflicts: list[str]
    """Paths with merge conflicts."""
    upstream: NotRequired[str]
    """Upstream ref being tracked by the current branch."""
    ahead: NotRequired[int]
    """Commits ahead of upstream (if tracking)."""
    behind: NotRequired[int]
    """Commits behind upstream (if tracking)."""

class GitSetWorkingDirOutputRepositoryRecentCommits(TypedDict):
    hash: str
    """Short commit hash."""
    author: str
    """Author name."""
    date: str
    """Author date (ISO 8601)."""
    subject: str
    """First line of the commit message."""

class GitSetWorkingDirOutputRepositoryRecentTags(TypedDict):
    name: str
    """Tag name."""
    date: NotRequired[str]
    """Creator date (ISO 8601); absent for lightweight tags with no metadata."""
    tagger: NotRequired[str]
    """Tagger identity (annotated tags only)."""
    annotationSubject: NotRequired[str]
    """First line of the tag annotation (annotated tags only)."""
    annotationBody: NotRequired[str]
    """Remaining annotation body after the subject (annotated tags only)."""

class GitSetWorkingDirOutputRepositoryRemotes(TypedDict):
    name: str
    """Remote name."""
    fetchUrl: str
    """Fetch URL."""
    pushUrl: str
    """Push URL (may differ from fetch URL)."""

class GitSetWorkingDirInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str
    validateGitRepo: NotRequired[bool]
    initializeIfNotPresent: NotRequired[bool]

# ptc {"tool": "mcp__git__git_set_working_dir", "input": "GitSetWorkingDirInput"}
@overload
@_either_way
async def git_set_working_dir(
    *,
    path: str,
    validateGitRepo: bool = ...,
    initializeIfNotPresent: bool = ...,
) -> GitSetWorkingDirOutput:
    """Set the session working directory for all git operations so subsequent calls can omit the path parameter. Always returns a repository snapshot (status, recent commits, recent tags, remotes) to orient the caller.

    Args:
        path: Absolute path to the git repository to use as the working directory.
        validateGitRepo: Validate that the path is a Git repository.
            Default: true
        initializeIfNotPresent: If not a Git repository, initialize it with 'git init'.
            Default: false
    """
@overload
@_either_way
async def git_set_working_dir(arguments: GitSetWorkingDirInput, /) -> GitSetWorkingDirOutput: ...

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

# ptc {"tool": "mcp__git__git_show", "input": "GitShowInput"}
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

class GitStashOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    mode: str
    """Operation mode that was performed."""
    stashes: NotRequired[list[GitStashOutputStashes]]
    """List of stashes (for list mode)."""
    created: NotRequired[str]
    """Created stash reference (for push mode)."""
    applied: NotRequired[str]
    """Applied stash reference (for pop/apply mode)."""
    dropped: NotRequired[str]
    """Dropped stash reference (for drop mode)."""
    conflicts: NotRequired[bool]
    """Whether operation had conflicts."""

class GitStashOutputStashes(TypedDict):
    ref: str
    """Stash reference (e.g., stash@{0})."""
    index: int
    """Stash index number."""
    branch: str
    """Branch name when stashed."""
    description: str
    """Stash description."""
    timestamp: int
    """Unix timestamp when stashed."""

class GitStashInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    mode: NotRequired[Literal["list", "push", "pop", "apply", "drop", "clear"]]
    message: NotRequired[str]
    stashRef: NotRequired[str]
    includeUntracked: NotRequired[bool]
    keepIndex: NotRequired[bool]
    limit: NotRequired[int]

# ptc {"tool": "mcp__git__git_stash", "input": "GitStashInput"}
@overload
@_either_way
async def git_stash(
    *,
    path: str = ...,
    mode: Literal["list", "push", "pop", "apply", "drop", "clear"] = ...,
    message: str = ...,
    stashRef: str = ...,
    includeUntracked: bool = ...,
    keepIndex: bool = ...,
    limit: int = ...,
) -> GitStashOutput:
    """Manage stashes: list stashes, save current changes (push), restore changes (pop/apply), or remove stashes (drop/clear).

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        mode: The stash operation to perform. Defaults to push (save current changes).
        message: Stash message description (for push operation).
        stashRef: Stash reference like stash@{0} (for pop/apply/drop operations). Must not start with "-".
        includeUntracked: Include untracked files in the stash (for push operation).
            Default: false
        keepIndex: Don't revert staged changes (for push operation).
            Default: false
        limit: For list mode: cap the number of stash entries returned (applied at the git command).
    """
@overload
@_either_way
async def git_stash(arguments: GitStashInput, /) -> GitStashOutput: ...

class GitStatusOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    currentBranch: str | None
    """Current branch name."""
    upstream: NotRequired[str]
    """Upstream ref the current branch is tracking (if any)."""
    ahead: NotRequired[int]
    """Commits ahead of upstream (if tracking)."""
    behind: NotRequired[int]
    """Commits behind upstream (if tracking)."""
    isClean: bool
    """True if working directory is clean (no staged, unstaged, or untracked changes). When includeUntracked is false, untracked files are excluded from this check."""
    stagedChanges: GitStatusOutputStagedChanges
    """Changes that have been staged for the next commit."""
    unstagedChanges: GitStatusOutputUnstagedChanges
    """Changes in the working directory that have not been staged."""
    untrackedFiles: list[str]
    """Files in the working directory not tracked by git."""
    conflictedFiles: list[str]
    """Files with merge conflicts that need resolution."""

class GitStatusOutputStagedChanges(TypedDict):
    added: NotRequired[list[str]]
    """Files added to the index (staged)."""
    modified: NotRequired[list[str]]
    """Files modified and staged."""
    deleted: NotRequired[list[str]]
    """Files deleted and staged."""
    renamed: NotRequired[list[str]]
    """Files renamed and staged."""
    copied: NotRequired[list[str]]
    """Files copied and staged."""

class GitStatusOutputUnstagedChanges(TypedDict):
    added: NotRequired[list[str]]
    """Files added but not staged."""
    modified: NotRequired[list[str]]
    """Files modified but not staged."""
    deleted: NotRequired[list[str]]
    """Files deleted but not staged."""

class GitStatusInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    includeUntracked: NotRequired[bool]

# ptc {"tool": "mcp__git__git_status", "input": "GitStatusInput"}
@overload
@_either_way
async def git_status(
    *,
    path: str = ...,
    includeUntracked: bool = ...,
) -> GitStatusOutput:
    """Show the working tree status including staged, unstaged, and untracked files.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        includeUntracked: Include untracked files in the output.
            Default: true
    """
@overload
@_either_way
async def git_status(arguments: GitStatusInput, /) -> GitStatusOutput: ...

class GitTagOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    mode: str
    """Operation mode that was performed."""
    tags: NotRequired[list[GitTagOutputTags]]
    """List of tags (for list mode)."""
    created: NotRequired[str]
    """Created tag name (for create mode)."""
    deleted: NotRequired[str]
    """Deleted tag name (for delete mode)."""
    signed: NotRequired[bool]
    """Whether the created tag was signed. Only populated for create mode. False when GIT_SIGN_COMMITS=false or when signing failed and fell back to unsigned."""
    signingWarning: NotRequired[str]
    """Populated only when signing was requested but failed, and the tag was created unsigned as a fallback."""
    verifiedTag: NotRequired[str]
    """Verified tag name (for verify mode). Echoes the input so callers can correlate results in batched flows."""
    verified: NotRequired[bool]
    """Whether the signature validated (for verify mode). `false` for unsigned tags, missing trust config, bad signatures, or unparseable output — inspect `warning` to distinguish."""
    signatureType: NotRequired[Literal["gpg", "ssh", "x509"]]
    """Signature algorithm family when detectable from `git tag -v` output (verify mode). Absent for unsigned tags or unparseable output."""
    signerIdentity: NotRequired[str]
    """Signer identity as emitted by git — e.g., `Name <email>` for GPG or the SSH principal. Verify mode only."""
    signerKey: NotRequired[str]
    """Key material emitted by git — GPG fingerprint/key ID or SSH key fingerprint (`SHA256:…`). Verify mode only; absent when git did not surface it."""
    warning: NotRequired[str]
    """Populated on verify failure with a human-readable reason distinguishing unsigned tags, missing trust configuration, bad signatures, and unparseable output."""
    rawOutput: NotRequired[str]
    """Raw stderr from `git tag -v` for callers that need the full verification output (verify mode only)."""

class GitTagOutputTags(TypedDict):
    name: str
    """Tag name."""
    commit: str
    """Commit hash the tag points to."""
    message: NotRequired[str]
    """First line of the tag annotation (annotated tags only). See `annotationBody` for the remainder."""
    annotationBody: NotRequired[str]
    """Remaining annotation body after the subject line (annotated tags only)."""
    tagger: NotRequired[str]
    """Tagger name and email."""
    timestamp: NotRequired[int]
    """Tag creation timestamp."""

class GitTagInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    mode: NotRequired[Literal["list", "create", "delete", "verify"]]
    tagName: NotRequired[str]
    commit: NotRequired[str]
    message: NotRequired[str]
    annotated: NotRequired[bool]
    force: NotRequired[bool]
    limit: NotRequired[int]

# ptc {"tool": "mcp__git__git_tag", "input": "GitTagInput"}
@overload
@_either_way
async def git_tag(
    *,
    path: str = ...,
    mode: Literal["list", "create", "delete", "verify"] = ...,
    tagName: str = ...,
    commit: str = ...,
    message: str = ...,
    annotated: bool = ...,
    force: bool = ...,
    limit: int = ...,
) -> GitTagOutput:
    """Manage tags: list all tags, create a new tag, delete a tag, or verify a signed tag. Tags are used to mark specific points in history (releases, milestones). Verify runs `git tag -v` and returns a structured result distinguishing unsigned tags, missing trust configuration, bad signatures, and valid signatures.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        mode: The tag operation to perform.
            Default: "list\"
        tagName: Tag name for create/delete/verify operations.
        commit: Commit to tag (default: HEAD for create operation).
        message: Tag message. Providing a message always produces an annotated tag (git does not support messages on lightweight tags). For release tags, summarize notable changes.
        annotated: Create an annotated tag with a default "Tag <name>" message. Only effective when no message is provided and signing is disabled — otherwise the tag is always annotated.
        force: Overwrite an existing tag (create mode only; has no effect on list or delete).
            Default: false
        limit: For list mode: cap the number of tags returned (applied at the git command via `--count=N`). Use on repos with many tags.
    """
@overload
@_either_way
async def git_tag(arguments: GitTagInput, /) -> GitTagOutput: ...

class GitWorktreeOutput(TypedDict):
    success: bool
    """Indicates if the operation was successful."""
    mode: str
    """Operation mode that was performed."""
    worktrees: NotRequired[list[GitWorktreeOutputWorktrees]]
    """List of worktrees (for list mode)."""
    added: NotRequired[str]
    """Added worktree path (for add mode)."""
    removed: NotRequired[str]
    """Removed worktree path (for remove mode)."""
    moved: NotRequired[GitWorktreeOutputMoved]
    """Move operation info (for move mode)."""
    pruned: NotRequired[list[str]]
    """Pruned worktree paths (for prune mode)."""

class GitWorktreeOutputWorktrees(TypedDict):
    path: str
    """Absolute path to the worktree."""
    head: str
    """HEAD commit hash in this worktree."""
    branch: NotRequired[str]
    """Branch checked out (if not detached)."""
    bare: bool
    """Whether worktree is bare."""
    detached: bool
    """Whether HEAD is detached."""
    locked: bool
    """Whether the worktree is locked."""
    prunable: bool
    """Whether the worktree can be pruned."""

GitWorktreeOutputMoved = TypedDict(
    "GitWorktreeOutputMoved",
    {
        "from": str,
        "to": str,
    },
)

class GitWorktreeInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: NotRequired[str]
    mode: NotRequired[Literal["list", "add", "remove", "move", "prune"]]
    worktreePath: NotRequired[str]
    branch: NotRequired[str]
    commitish: NotRequired[str]
    force: NotRequired[bool]
    newPath: NotRequired[str]
    detach: NotRequired[bool]
    verbose: NotRequired[bool]
    dryRun: NotRequired[bool]

# ptc {"tool": "mcp__git__git_worktree", "input": "GitWorktreeInput"}
@overload
@_either_way
async def git_worktree(
    *,
    path: str = ...,
    mode: Literal["list", "add", "remove", "move", "prune"] = ...,
    worktreePath: str = ...,
    branch: str = ...,
    commitish: str = ...,
    force: bool = ...,
    newPath: str = ...,
    detach: bool = ...,
    verbose: bool = ...,
    dryRun: bool = ...,
) -> GitWorktreeOutput:
    """Manage multiple working trees: list worktrees, add new worktrees for parallel work, remove worktrees, or move worktrees to new locations.

    Args:
        path: Path to the Git repository. Defaults to session working directory set via git_set_working_dir.
        mode: The worktree operation to perform.
            Default: "list\"
        worktreePath: Path for the new worktree (for add/move operations). Must not start with "-".
        branch: For add operation: create a NEW branch with this name in the new worktree. Fails if the branch already exists — use `commitish` to check out an existing branch instead.
        commitish: For add operation: check out this existing branch/commit/tag in the new worktree (no new branch is created).
        force: Force operation (for remove operation with uncommitted changes).
            Default: false
        newPath: New path for the worktree (for move operation). Must not start with "-".
        detach: Create worktree with detached HEAD (for add operation).
            Default: false
        verbose: Provide detailed output for worktree operations.
            Default: false
        dryRun: Preview the operation without executing it (for prune operation).
            Default: false
    """
@overload
@_either_way
async def git_worktree(arguments: GitWorktreeInput, /) -> GitWorktreeOutput: ...

class GitWrapupInstructionsOutput(TypedDict):
    instructions: str
    """The wrap-up protocol to satisfy before the session ships."""
    repository: NotRequired[GitWrapupInstructionsOutputRepository]
    """Best-effort repository snapshot. Omitted when no working directory is set or when the path is not a git repository."""
    enrichmentWarnings: NotRequired[list[str]]
    """Actionable notes when snapshot gathering was skipped or partially failed."""

class GitWrapupInstructionsOutputRepository(TypedDict):
    status: GitWrapupInstructionsOutputRepositoryStatus
    recentCommits: list[GitWrapupInstructionsOutputRepositoryRecentCommits]
    """Up to 2 most recent commits on the current branch."""
    recentTags: list[GitWrapupInstructionsOutputRepositoryRecentTags]
    """Up to 2 most recent tags by creator date."""

class GitWrapupInstructionsOutputRepositoryStatus(TypedDict):
    branch: str | None
    """Current branch (null on detached HEAD)."""
    isClean: bool
    """True when the working tree has no changes."""
    staged: list[str]
    """Paths staged for the next commit."""
    unstaged: list[str]
    """Paths with unstaged modifications."""
    untracked: list[str]
    """Untracked paths."""
    conflicts: list[str]
    """Paths with merge conflicts."""
    upstream: NotRequired[str]
    """Upstream ref being tracked by the current branch."""
    ahead: NotRequired[int]
    """Commits ahead of upstream (if tracking)."""
    behind: NotRequired[int]
    """Commits behind upstream (if tracking)."""

class GitWrapupInstructionsOutputRepositoryRecentCommits(TypedDict):
    hash: str
    """Short commit hash."""
    author: str
    """Author name."""
    date: str
    """Author date (ISO 8601)."""
    subject: str
    """First line of the commit message."""

class GitWrapupInstructionsOutputRepositoryRecentTags(TypedDict):
    name: str
    """Tag name."""
    date: NotRequired[str]
    """Creator date (ISO 8601); absent for lightweight tags with no metadata."""
    tagger: NotRequired[str]
    """Tagger identity (annotated tags only)."""
    annotationSubject: NotRequired[str]
    """First line of the tag annotation (annotated tags only)."""
    annotationBody: NotRequired[str]
    """Remaining annotation body after the subject (annotated tags only)."""

class GitWrapupInstructionsInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    acknowledgement: Literal["Y", "y", "Yes", "yes"]
    createTag: NotRequired[bool]

# ptc {"tool": "mcp__git__git_wrapup_instructions", "input": "GitWrapupInstructionsInput"}
@overload
@_either_way
async def git_wrapup_instructions(
    *,
    acknowledgement: Literal["Y", "y", "Yes", "yes"],
    createTag: bool = ...,
) -> GitWrapupInstructionsOutput:
    """Returns a Git wrap-up protocol: an acceptance-criteria checklist the agent must satisfy before the session is considered shipped. Uses the operator's custom instructions if configured, otherwise emits a generic goals-strict/mechanism-generic default. Enriches the response with a repository snapshot (status, recent commits, recent tags) so the agent has immediate orientation for the commit and release steps.

    Args:
        acknowledgement: Acknowledgement to initiate the wrap-up workflow.
        createTag: Controls whether the tag criterion appears in the emitted protocol. Omit or set `true` to include the tag step. Set `false` to omit it entirely — e.g., when tagging is deferred to a separate release step.
    """
@overload
@_either_way
async def git_wrapup_instructions(arguments: GitWrapupInstructionsInput, /) -> GitWrapupInstructionsOutput: ...

class PromptsGetOutput(TypedDict):
    description: NotRequired[str]
    messages: list[PromptsGetOutputMessages]

class PromptsGetOutputMessages(TypedDict):
    role: Literal["user", "assistant"]
    content: Any

class PromptsGetInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    name: str
    arguments: NotRequired[Mapping[str, str]]

# ptc {"tool": "mcp__git__prompts/get", "input": "PromptsGetInput"}
@overload
@_either_way
async def prompts_get(
    *,
    name: str,
    arguments: Mapping[str, str] = ...,
) -> PromptsGetOutput:
    """Gets the messages of a prompt of this server. In a program also `prompts.get(name, args)`."""
@overload
@_either_way
async def prompts_get(arguments: PromptsGetInput, /) -> PromptsGetOutput: ...

class PromptsListOutput(TypedDict):
    prompts: list[PromptsListOutputPrompts]

class PromptsListOutputPrompts(TypedDict):
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    arguments: NotRequired[list[PromptsListOutputPromptsArguments]]

class PromptsListOutputPromptsArguments(TypedDict):
    name: str
    description: NotRequired[str]
    required: NotRequired[bool]

# ptc {"tool": "mcp__git__prompts/list"}
@_either_way
async def prompts_list() -> PromptsListOutput:
    """Lists the prompts of this server and their arguments. In a program also `prompts.list()`."""

class ResourcesListOutput(TypedDict):
    resources: list[ResourcesListOutputResources]
    resourceTemplates: list[ResourcesListOutputResourceTemplates]

class ResourcesListOutputResources(TypedDict):
    uri: str
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    mimeType: NotRequired[str]
    size: NotRequired[float]

class ResourcesListOutputResourceTemplates(TypedDict):
    uriTemplate: str
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    mimeType: NotRequired[str]

# ptc {"tool": "mcp__git__resources/list"}
@_either_way
async def resources_list() -> ResourcesListOutput:
    """Lists the resources of this server, and the templates (RFC 6570) of the URIs of those that it does not list. In a program also `resources.list()`."""

class ResourcesReadOutput(TypedDict):
    contents: list[ResourcesReadOutputContents]

class ResourcesReadOutputContents(TypedDict):
    uri: str
    mimeType: NotRequired[str]
    text: NotRequired[str]
    blob: NotRequired[str]

class ResourcesReadInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    uri: str

# ptc {"tool": "mcp__git__resources/read", "input": "ResourcesReadInput"}
@overload
@_either_way
async def resources_read(
    *,
    uri: str,
) -> ResourcesReadOutput:
    """Reads a resource of this server: each of its contents is `text`, or a `blob` in base64, which `bytesOf` decodes. In a program also `resources.read(uri)`."""
@overload
@_either_way
async def resources_read(arguments: ResourcesReadInput, /) -> ResourcesReadOutput: ...

class _resources:
    @_either_way
    async def list(self) -> ResourcesListOutput:
        """All resources, and templates of URIs."""
    @_either_way
    async def read(self, uri: str) -> ResourcesReadOutput:
        """The contents of one resource."""

resources: _resources

class _prompts:
    @_either_way
    async def get(self, name: str, arguments: Mapping[str, str] | None = ...) -> PromptsGetOutput:
        """The messages of one prompt."""
    @_either_way
    async def list(self) -> PromptsListOutput:
        """All prompts, and their arguments."""

prompts: _prompts
