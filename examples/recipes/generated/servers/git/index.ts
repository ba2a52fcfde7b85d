/**
 * A git repository
 * Tools of the MCP server "git". Written by `ptc generate`: edits are lost.
 */

import { tool } from "../../runtime.js";

export interface GitAddInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * Array of file or directory paths to stage (relative to repository root). Use ["."] to stage all changes. Paths must not start with "-" — use "./-name" for filenames starting with a dash. Can be omitted when all or update is true.
   * Items: File path (must not start with "-").
   * @default []
   */
  paths?: string[];
  /**
   * Stage only modified and deleted files (skip untracked files).
   * @default false
   */
  update?: boolean;
  /**
   * Include all items (varies by operation).
   * @default false
   */
  all?: boolean;
  /**
   * Allow adding otherwise ignored files.
   * @default false
   */
  force?: boolean;
}

export interface GitAddOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Files that were successfully staged. */
  stagedFiles: string[];
  /** Total number of files staged. */
  totalFiles: number;
  /** Repository status after staging files. */
  status: {
    /** Current branch name after staging. */
    current_branch: string | null;
    /** All staged changes after this operation. */
    staged_changes: { [k: string]: any };
    /** Remaining unstaged changes. */
    unstaged_changes: { [k: string]: any };
    /** Remaining untracked files. */
    untracked_files: string[];
    /** Files with conflicts. */
    conflicted_files: string[];
    /** Whether working directory is clean (ready to commit). */
    is_clean: boolean;
  };
}

/** Stage files for commit. Add file contents to the staging area (index) to prepare for the next commit. */
export const gitAdd = tool<GitAddInput, GitAddOutput>("mcp__git__git_add");

export interface GitBlameInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Path to the file to blame (relative to repository root). Must not start with "-". */
  filePath: string;
  /** Start line number (1-indexed). */
  startLine?: number;
  /** End line number (1-indexed). */
  endLine?: number;
  /**
   * Ignore whitespace changes.
   * @default false
   */
  ignoreWhitespace?: boolean;
}

export interface GitBlameOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** The file that was blamed. */
  filePath: string;
  /** Array of blame information for each line. */
  lines: {
    /** Line number in the file (1-indexed). */
    lineNumber: number;
    /** Full commit hash of the last change to this line. */
    commitHash: string;
    /** Author who last modified this line. */
    author: string;
    /** Unix timestamp of the commit that last modified this line. */
    timestamp: number;
    /** The actual content/text of this line. */
    content: string;
  }[];
  /** Total number of lines in the output. */
  totalLines: number;
}

/** Show line-by-line authorship information for a file, displaying who last modified each line and when. For large files, use startLine/endLine to limit output. */
export const gitBlame = tool<GitBlameInput, GitBlameOutput>("mcp__git__git_blame");

export interface GitBranchInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * The branch operation to perform.
   * @default "list"
   */
  mode?: "list" | "create" | "delete" | "rename" | "show-current";
  /** Branch name for create/delete/rename operations. */
  branchName?: string;
  /** New branch name for rename operation. */
  newBranchName?: string;
  /** Starting point (commit/branch) for new branch creation. */
  startPoint?: string;
  /**
   * Force the operation, bypassing safety checks.
   * @default false
   */
  force?: boolean;
  /**
   * For list mode: show both local and remote branches.
   * @default false
   */
  all?: boolean;
  /**
   * For list mode: show only remote branches.
   * @default false
   */
  remote?: boolean;
  /**
   * For list mode: show only branches merged into HEAD (true) or specified commit (string).
   * Commit reference: full/short hash, branch name, tag name, or relative ref (HEAD~1). Must not start with "-".
   */
  merged?: boolean | string;
  /**
   * For list mode: show only branches not merged into HEAD (true) or specified commit (string).
   * Commit reference: full/short hash, branch name, tag name, or relative ref (HEAD~1). Must not start with "-".
   */
  noMerged?: boolean | string;
  /** For list mode: cap the number of branches returned (applied at the git command). Use on repos with many branches. */
  limit?: number;
}

export interface GitBranchOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  mode: "list" | "create" | "delete" | "rename" | "show-current";
  /** List of branches (for list mode). */
  branches?: {
    /** Branch name. */
    name: string;
    /** True if this is the current branch. */
    current: boolean;
    /** Commit hash the branch points to. */
    commitHash: string;
    /** Upstream branch name if configured. */
    upstream?: string;
    /** Commits ahead of upstream. */
    ahead?: number;
    /** Commits behind upstream. */
    behind?: number;
  }[];
  /** Name of current branch. */
  currentBranch?: string;
  /** Success message for create/delete/rename modes. */
  message?: string;
}

/** Manage branches: list all branches, show current branch, create a new branch, delete a branch, or rename a branch. */
export const gitBranch = tool<GitBranchInput, GitBranchOutput>("mcp__git__git_branch");

export interface GitChangelogAnalyzeInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Types of changelog review to perform. At least one required. Options: security, features, storyline, gaps, breaking_changes, quality. */
  reviewTypes: ("security" | "features" | "storyline" | "gaps" | "breaking_changes" | "quality")[];
  /**
   * Maximum recent commits to fetch for cross-referencing (1-1000).
   * @default 200
   */
  maxCommits?: number;
  /**
   * Maximum recent tags to fetch for release context (1-1000). Applied at the git command so large tag catalogs do not bloat the response.
   * @default 100
   */
  maxTags?: number;
  /** Only include git history since this tag (e.g., "v1.2.0"). Narrows the analysis window. Must not start with "-". */
  sinceTag?: string;
  /** Branch to analyze (defaults to current branch). */
  branch?: string;
}

export interface GitChangelogAnalyzeOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Review types that were requested. */
  reviewTypes: ("security" | "features" | "storyline" | "gaps" | "breaking_changes" | "quality")[];
  /** Git history context for changelog cross-referencing. */
  gitContext: {
    /** Current branch name. */
    currentBranch: string | null;
    /** Number of commits returned. */
    totalCommitsFetched: number;
    /** Recent commits for cross-referencing. */
    commits: {
      /** Short commit hash. */
      hash: string;
      /** Commit subject line. */
      subject: string;
      /** Commit author. */
      author: string;
      /** Unix timestamp. */
      timestamp: number;
      /** Tags or branches at this commit. */
      refs?: string[];
    }[];
    /** Repository tags for release context. */
    tags: {
      /** Tag name. */
      name: string;
      /** Commit hash the tag points to. */
      commit: string;
      /** Tag creation timestamp. */
      timestamp?: number;
      /** Annotated tag message. */
      message?: string;
    }[];
  };
  /** Analysis instructions for each requested review type. Guides the LLM on what to look for in the changelog. */
  reviewInstructions: string;
}

/** Gather git history context (commits, tags) and structured review instructions to support LLM-driven changelog analysis. Changelog file should be read separately; this tool provides the supporting git data and analysis framework. Pass one or more review types to control what kind of analysis to perform. */
export const gitChangelogAnalyze = tool<GitChangelogAnalyzeInput, GitChangelogAnalyzeOutput>("mcp__git__git_changelog_analyze");

export interface GitCheckoutInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * Branch name, commit hash, or tag to checkout.
   * - Branch name (must follow git naming conventions, no leading "-").
   * - Commit reference: full/short hash, branch name, tag name, or relative ref (HEAD~1). Must not start with "-".
   */
  target: string;
  /**
   * Create a new branch with the specified name.
   * @default false
   */
  createBranch?: boolean;
  /**
   * Force the operation, bypassing safety checks.
   * @default false
   */
  force?: boolean;
  /**
   * Specific file paths to checkout/restore (relative to repository root). Entries must not start with "-".
   * Items: File path (must not start with "-").
   */
  paths?: string[];
  /** Set up tracking relationship with remote branch when creating new branch. */
  track?: boolean;
}

export interface GitCheckoutOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Checked out branch or commit. */
  target: string;
  /** True if a new branch was created. */
  branchCreated: boolean;
  /** Files that were modified during checkout. */
  filesModified: string[];
}

/** Switch branches or restore working tree files. Can checkout an existing branch, create a new branch, or restore specific files. */
export const gitCheckout = tool<GitCheckoutInput, GitCheckoutOutput>("mcp__git__git_checkout");

export interface GitCherryPickInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * Commit hashes to cherry-pick.
   * Items: Commit reference: full/short hash, branch name, tag name, or relative ref (HEAD~1). Must not start with "-".
   */
  commits: string[];
  /**
   * Don't create commit (stage changes only).
   * @default false
   */
  noCommit?: boolean;
  /**
   * Continue cherry-pick after resolving conflicts.
   * @default false
   */
  continueOperation?: boolean;
  /**
   * Abort cherry-pick operation.
   * @default false
   */
  abort?: boolean;
  /** For merge commits, specify which parent to follow (1 for first parent, 2 for second, etc.). */
  mainline?: number;
  /** Merge strategy to use for cherry-pick. */
  strategy?: "ort" | "recursive" | "octopus" | "ours" | "subtree";
  /**
   * Add Signed-off-by line to the commit message.
   * @default false
   */
  signoff?: boolean;
}

export interface GitCherryPickOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Commits that were successfully cherry-picked. */
  pickedCommits: string[];
  /** Whether operation had conflicts. */
  conflicts: boolean;
  /** Files with conflicts that need resolution. */
  conflictedFiles: string[];
  /** Human-readable next-step guidance, especially for conflicts. */
  message?: string;
}

/** Cherry-pick commits from other branches. Apply specific commits to the current branch without merging entire branches. */
export const gitCherryPick = tool<GitCherryPickInput, GitCherryPickOutput>("mcp__git__git_cherry_pick");

export interface GitCleanInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * Force the operation, bypassing safety checks.
   * @default false
   */
  force?: boolean;
  /**
   * Preview the operation without executing it.
   * @default false
   */
  dryRun?: boolean;
  /**
   * Remove untracked directories in addition to files.
   * @default false
   */
  directories?: boolean;
  /**
   * Remove ignored files as well.
   * @default false
   */
  ignored?: boolean;
}

export interface GitCleanOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** List of files that were removed. */
  filesRemoved: string[];
  /** List of directories that were removed. */
  directoriesRemoved: string[];
  /** Whether this was a dry-run (preview only). */
  dryRun: boolean;
}

/** Remove untracked files from the working directory. Requires force flag for safety. Use dry-run to preview files that would be removed. */
export const gitClean = tool<GitCleanInput, GitCleanOutput>("mcp__git__git_clean");

export interface GitClearWorkingDirInput {
  /** Explicit confirmation required to clear working directory. Accepted values: 'Y', 'y', 'Yes', or 'yes'. */
  confirm: "Y" | "y" | "Yes" | "yes";
}

export interface GitClearWorkingDirOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Confirmation message. */
  message: string;
  /** The working directory that was cleared (if one was set). */
  previousPath?: string;
}

/** Clear the session working directory setting. This resets the context without restarting the server. Subsequent git operations will require an explicit path parameter unless git_set_working_dir is called again. */
export const gitClearWorkingDir = tool<GitClearWorkingDirInput, GitClearWorkingDirOutput>("mcp__git__git_clear_working_dir");

export interface GitCloneInput {
  /** Git repository URL: HTTP(S), SSH (ssh://… or user@host:path), git://, file://, or an absolute filesystem path. Must not start with "-" and no segment may start with "-". */
  url: string;
  /** Destination path where the repository should be cloned. Must not start with "-". */
  path: string;
  /** Specific branch to clone (defaults to remote HEAD). Must not start with "-". */
  branch?: string;
  /** Create a shallow clone with history truncated to N commits. */
  depth?: number;
  /**
   * Create a bare repository (no working directory).
   * @default false
   */
  bare?: boolean;
  /**
   * Create a mirror clone (implies bare).
   * @default false
   */
  mirror?: boolean;
}

export interface GitCloneOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** The remote URL or path that was cloned. */
  remoteUrl: string;
  /** Local path where repository was cloned. */
  path: string;
  /** The branch that was checked out. */
  branch: string;
  /** Current HEAD commit hash. */
  commitHash?: string;
}

/** Clone a repository from a remote URL or local path. Accepts HTTP(S), SSH, git://, file://, and bare filesystem paths, with optional shallow cloning. */
export const gitClone = tool<GitCloneInput, GitCloneOutput>("mcp__git__git_clone");

export interface GitCommitInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Commit message. */
  message: string;
  /** Override commit author (defaults to git config). */
  author?: {
    /** Author's name */
    name: string;
    /** Author's email address (e.g. user@example.com). */
    email: string;
  };
  /**
   * Amend the previous commit instead of creating a new one. Use with caution.
   * @default false
   */
  amend?: boolean;
  /**
   * Allow creating a commit with no changes.
   * @default false
   */
  allowEmpty?: boolean;
  /**
   * Bypass pre-commit and commit-msg hooks.
   * @default false
   */
  noVerify?: boolean;
  /**
   * File paths to stage before committing (atomic stage+commit operation). Entries must not start with "-".
   * Items: File path (must not start with "-").
   */
  filesToStage?: string[];
}

export interface GitCommitOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** SHA-1 hash of the created commit. */
  commitHash: string;
  /** The commit message. */
  message: string;
  /** Author of the commit. */
  author: string;
  /** Unix timestamp when the commit was created. */
  timestamp: number;
  /** Number of files changed in this commit. */
  filesChanged?: number;
  /** List of files that were committed. */
  committedFiles: string[];
  /** Number of line insertions. */
  insertions?: number;
  /** Number of line deletions. */
  deletions?: number;
  /** Whether the commit was signed. False when GIT_SIGN_COMMITS=false or when signing was attempted and fell back to unsigned on failure. */
  signed: boolean;
  /** Populated only when signing was requested but failed, and the commit was created unsigned as a fallback. */
  signingWarning?: string;
  /** Repository status after the commit. */
  status: {
    /** Current branch name after commit. */
    current_branch: string | null;
    /** Remaining staged changes after commit. */
    staged_changes: { [k: string]: any };
    /** Unstaged changes after commit. */
    unstaged_changes: { [k: string]: any };
    /** Untracked files after commit. */
    untracked_files: string[];
    /** Conflicted files after commit. */
    conflicted_files: string[];
    /** Whether working directory is clean. */
    is_clean: boolean;
  };
}

/**
 * Create a new commit with staged changes in the repository. Records a snapshot of the staging area with a commit message.
 *
 * **Commit Message Format:**
 * Pass commit messages as JSON string parameters. Multi-line messages are supported using standard JSON string escaping.
 *
 * **Examples:**
 * - Single line: { "message": "feat: add user authentication" }
 * - Multi-line: { "message": "feat: add user authentication\n\nImplemented OAuth2 flow with JWT tokens.\nAdded tests for login and logout." }
 *
 * Note: Do not use bash heredoc syntax. Literal escape sequences (\n, \t) in the message string are automatically normalized to their actual characters.
 */
export const gitCommit = tool<GitCommitInput, GitCommitOutput>("mcp__git__git_commit");

export interface GitDiffInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Target commit/branch to compare against. If not specified, shows unstaged changes in working tree. */
  target?: string;
  /** Source commit/branch to compare from. If target is specified but not source, compares target against working tree. */
  source?: string;
  /**
   * Limit diff to specific file paths (relative to repository root). Entries must not start with "-".
   * Items: File path (must not start with "-").
   */
  paths?: string[];
  /**
   * Show diff of staged changes instead of unstaged.
   * @default false
   */
  staged?: boolean;
  /**
   * Include untracked files in the diff. Useful for reviewing all upcoming changes.
   * @default false
   */
  includeUntracked?: boolean;
  /**
   * Show only names of changed files, not the diff content.
   * @default false
   */
  nameOnly?: boolean;
  /**
   * Show diffstat (summary of changes) instead of full diff content.
   * @default false
   */
  stat?: boolean;
  /**
   * Number of context lines to show around changes.
   * @default 3
   */
  contextLines?: number;
  /**
   * Automatically exclude lock files and other generated files (e.g., package-lock.json, yarn.lock, bun.lock, poetry.lock, go.sum) from diff output to reduce context bloat. Set to false if you need to inspect these files.
   * @default true
   */
  autoExclude?: boolean;
}

export interface GitDiffOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** The diff output in unified diff format. */
  diff: string;
  /** Number of files with differences. */
  filesChanged: number;
  /** Total number of line insertions. */
  insertions?: number;
  /** Total number of line deletions. */
  deletions?: number;
  /** Files that were automatically excluded from the diff (e.g., lock files). Call again with autoExclude=false to include them. */
  excludedFiles?: string[];
}

/** View differences between commits, branches, or working tree. Shows changes in unified diff format. */
export const gitDiff = tool<GitDiffInput, GitDiffOutput>("mcp__git__git_diff");

export interface GitFetchInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Remote name (default: origin). */
  remote?: string;
  /**
   * Prune remote-tracking references that no longer exist on remote.
   * @default false
   */
  prune?: boolean;
  /**
   * Fetch all tags from the remote.
   * @default false
   */
  tags?: boolean;
  /** Create a shallow clone with history truncated to N commits. */
  depth?: number;
}

export interface GitFetchOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Remote name that was fetched from. */
  remote: string;
  /** References that were fetched from the remote. */
  fetchedRefs: string[];
  /** References that were pruned (deleted locally). */
  prunedRefs: string[];
}

/** Fetch updates from a remote repository. Downloads objects and refs without merging them. */
export const gitFetch = tool<GitFetchInput, GitFetchOutput>("mcp__git__git_fetch");

export interface GitInitInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Name of the initial branch (default: main). */
  initialBranch?: string;
  /**
   * Create a bare repository (no working directory).
   * @default false
   */
  bare?: boolean;
}

export interface GitInitOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Path where repository was initialized. */
  path: string;
  /** Name of the initial branch. */
  initialBranch: string;
  /** Whether this is a bare repository. */
  isBare: boolean;
}

/** Initialize a new Git repository at the specified path. Creates a .git directory and sets up the initial branch. */
export const gitInit = tool<GitInitInput, GitInitOutput>("mcp__git__git_init");

export interface GitLogInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * Maximum number of items to return (1-1000).
   * @default 10
   */
  maxCount?: number;
  /** Number of items to skip for pagination. */
  skip?: number;
  /** Show commits more recent than a specific date (ISO 8601 format). */
  since?: string;
  /** Show commits older than a specific date (ISO 8601 format). */
  until?: string;
  /** Filter commits by author name or email pattern. */
  author?: string;
  /** Filter commits by message pattern (regex supported). */
  grep?: string;
  /** Show commits from a specific branch or ref (defaults to current branch). */
  branch?: string;
  /** Show commits that affected a specific file path. Must not start with "-". */
  filePath?: string;
  /**
   * Abbreviated output: return only hash, shortHash, and subject per commit. Significantly reduces response size.
   * @default false
   */
  oneline?: boolean;
  /**
   * Include file change statistics for each commit.
   * @default false
   */
  stat?: boolean;
  /**
   * Include the full diff patch for each commit.
   * @default false
   */
  patch?: boolean;
  /**
   * Show GPG signature verification information for each commit.
   * @default false
   */
  showSignature?: boolean;
}

export interface GitLogOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Array of commit objects. */
  commits: {
    /** Full commit SHA-1 hash. */
    hash: string;
    /** Abbreviated commit hash (7 characters). */
    shortHash: string;
    /** Commit author name. */
    author?: string;
    /** Commit author email. */
    authorEmail?: string;
    /** Commit timestamp (Unix timestamp). */
    timestamp?: number;
    /** First line of the commit message. */
    subject: string;
    /** Commit message body (if present). */
    body?: string;
    /** Parent commit hashes. */
    parents?: string[];
    /** References (branches, tags) pointing to this commit. */
    refs?: string[];
    /** File change statistics (when stat option is used). */
    stat?: string;
    /** Full diff patch (when patch option is used). */
    patch?: string;
  }[];
  /** Total number of commits returned (may be limited by maxCount). */
  totalCount: number;
  /** Set when filters returned zero commits. Echoes the criteria and suggests broadening so callers can self-correct without inspecting the request. */
  note?: string;
}

/** View commit history with optional filtering by author, date range, file path, or commit message pattern. */
export const gitLog = tool<GitLogInput, GitLogOutput>("mcp__git__git_log");

export interface GitMergeInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Branch to merge into current branch. */
  branch: string;
  /** Merge strategy to use (ort, recursive, octopus, ours, subtree). */
  strategy?: "ort" | "recursive" | "octopus" | "ours" | "subtree";
  /**
   * Prevent fast-forward merge (create merge commit).
   * @default false
   */
  noFastForward?: boolean;
  /**
   * Squash all commits from the branch into a single commit.
   * @default false
   */
  squash?: boolean;
  /** Custom merge commit message. */
  message?: string;
  /**
   * Abort an in-progress merge that has conflicts.
   * @default false
   */
  abort?: boolean;
}

export interface GitMergeOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Merge strategy used. */
  strategy: string;
  /** Whether merge was fast-forward. */
  fastForward: boolean;
  /** Whether merge had conflicts. */
  conflicts: boolean;
  /** Files with conflicts that need resolution. */
  conflictedFiles: string[];
  /** Files that were merged. */
  mergedFiles: string[];
  /** Merge commit message. */
  message: string;
}

/** Merge branches together. Integrates changes from another branch into the current branch with optional merge strategies. */
export const gitMerge = tool<GitMergeInput, GitMergeOutput>("mcp__git__git_merge");

export interface GitPullInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Remote name (default: origin). */
  remote?: string;
  /** Branch name (default: current branch). */
  branch?: string;
  /**
   * Use rebase instead of merge when integrating changes.
   * @default false
   */
  rebase?: boolean;
  /**
   * Fail if can't fast-forward (no merge commit).
   * @default false
   */
  fastForwardOnly?: boolean;
}

export interface GitPullOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Remote name that was pulled from. */
  remote: string;
  /** Branch that was pulled. */
  branch: string;
  /** Integration strategy used. */
  strategy: "merge" | "rebase" | "fast-forward";
  /** Whether pull had conflicts. */
  conflicts: boolean;
  /** Files with conflicts that need resolution (empty if conflicts is false). */
  conflictedFiles: string[];
  /** Files that were changed. */
  filesChanged: string[];
}

/** Pull changes from a remote repository. Fetches and integrates changes into the current branch. */
export const gitPull = tool<GitPullInput, GitPullOutput>("mcp__git__git_pull");

export interface GitPushInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Remote name (default: origin). */
  remote?: string;
  /** Branch name (default: current branch). */
  branch?: string;
  /**
   * Force push (overwrites remote history).
   * @default false
   */
  force?: boolean;
  /**
   * Safer force push - only succeeds if remote branch is at expected state.
   * @default false
   */
  forceWithLease?: boolean;
  /**
   * Set upstream tracking relationship for the branch.
   * @default false
   */
  setUpstream?: boolean;
  /**
   * Push all tags to the remote.
   * @default false
   */
  tags?: boolean;
  /**
   * Preview the operation without executing it.
   * @default false
   */
  dryRun?: boolean;
  /**
   * Delete the specified remote branch.
   * @default false
   */
  delete?: boolean;
  /** Remote branch name to push to (if different from local branch name). */
  remoteBranch?: string;
  /**
   * Explicit confirmation required for force push or branch deletion on protected branches (main, master, production, etc.).
   * @default false
   */
  confirmed?: boolean;
}

export interface GitPushOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Remote name that was pushed to. */
  remote: string;
  /** Branch that was pushed. */
  branch: string;
  /** Whether upstream tracking was set for the branch. */
  upstreamSet: boolean;
  /** References that were successfully pushed. */
  pushedRefs: string[];
  /** References that were rejected by the remote. */
  rejectedRefs: string[];
}

/** Push changes to a remote repository. Uploads local commits to the remote branch. */
export const gitPush = tool<GitPushInput, GitPushOutput>("mcp__git__git_push");

export interface GitRebaseInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * Rebase operation mode: 'start', 'continue', 'abort', or 'skip'.
   * @default "start"
   */
  mode?: "start" | "continue" | "abort" | "skip";
  /** Upstream branch to rebase onto (required for start mode). */
  upstream?: string;
  /** Branch to rebase (default: current branch). */
  branch?: string;
  /**
   * Interactive rebase (not supported in all providers).
   * @default false
   */
  interactive?: boolean;
  /** Rebase onto different commit than upstream. */
  onto?: string;
  /**
   * Preserve merge commits during rebase.
   * @default false
   */
  preserve?: boolean;
}

export interface GitRebaseOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Whether rebase had conflicts. */
  conflicts: boolean;
  /** Files with conflicts that need resolution. */
  conflictedFiles: string[];
  /** Number of commits that were rebased. */
  rebasedCommits: number;
  /** Current commit hash if rebase stopped due to conflict. */
  currentCommit?: string;
  /** Human-readable next-step guidance, especially for conflicts. */
  message?: string;
}

/** Rebase commits onto another branch. Reapplies commits on top of another base tip for a cleaner history. */
export const gitRebase = tool<GitRebaseInput, GitRebaseOutput>("mcp__git__git_rebase");

export interface GitReflogInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Reference whose reflog to show. Defaults to HEAD. Must not start with "-". */
  ref?: string;
  /**
   * Maximum number of items to return (1-1000).
   * @default 25
   */
  maxCount?: number;
}

export interface GitReflogOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** The reference that was queried. */
  ref: string;
  /** Array of reflog entries in reverse chronological order. */
  entries: {
    /** Commit hash for this reflog entry. */
    hash: string;
    /** Reference name (e.g., HEAD@{0}, main@{1}). */
    refName: string;
    /** Action that caused this reflog entry (commit, checkout, etc.). */
    action: string;
    /** Detailed message describing the action. */
    message: string;
    /** Unix timestamp when this action occurred. */
    timestamp: number;
  }[];
  /** Total number of reflog entries. */
  totalEntries: number;
}

/** View the reference logs (reflog) to track when branch tips and other references were updated. Useful for recovering lost commits. */
export const gitReflog = tool<GitReflogInput, GitReflogOutput>("mcp__git__git_reflog");

export interface GitRemoteInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * The remote operation to perform.
   * @default "list"
   */
  mode?: "list" | "add" | "remove" | "rename" | "get-url" | "set-url";
  /** Remote name for add/remove/rename/get-url/set-url operations. */
  name?: string;
  /** Remote URL for add/set-url operations. Accepts HTTP(S), SSH (ssh://… or user@host:path), git://, or file:// URLs. Must not start with "-". */
  url?: string;
  /** New remote name for rename operation. */
  newName?: string;
  /**
   * Set push URL separately (for set-url operation).
   * @default false
   */
  push?: boolean;
}

export interface GitRemoteOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Operation mode that was performed. */
  mode: string;
  /** List of remotes (for list mode). */
  remotes?: {
    /** Remote name. */
    name: string;
    /** Fetch URL. */
    fetchUrl: string;
    /** Push URL (may differ from fetch URL). */
    pushUrl: string;
  }[];
  /** Remote URL (for get-url mode). */
  url?: string;
  /** Added remote (for add mode). */
  added?: {
    name: string;
    url: string;
  };
  /** Removed remote name (for remove mode). */
  removed?: string;
  /** Rename information (for rename mode). */
  renamed?: {
    from: string;
    to: string;
  };
}

/** Manage remote repositories: list remotes, add new remotes, remove remotes, rename remotes, or get/set remote URLs. */
export const gitRemote = tool<GitRemoteInput, GitRemoteOutput>("mcp__git__git_remote");

export interface GitResetInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * Reset mode: soft (keep changes staged), mixed (unstage changes), hard (discard all changes), merge (reset and merge), keep (reset but keep local changes).
   * @default "mixed"
   */
  mode?: "soft" | "mixed" | "hard" | "merge" | "keep";
  /** Target commit to reset to. Defaults to HEAD. */
  target?: string;
  /**
   * Specific file paths to reset (leaves HEAD unchanged). Entries must not start with "-".
   * Items: File path (must not start with "-").
   */
  paths?: string[];
  /**
   * Explicit confirmation required for hard, merge, and keep reset modes on protected branches (main, master, production, etc.).
   * @default false
   */
  confirmed?: boolean;
}

export interface GitResetOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Reset mode that was used. */
  mode: string;
  /** Commit hash HEAD points to after the reset. */
  target: string;
  /** Commit hash HEAD pointed to before the reset (omitted if HEAD did not move). */
  previousCommit?: string;
  /** Files affected by the reset. For path-only resets, the listed paths. For commit-move resets, files that differ between the old and new HEAD. For --hard with no HEAD move, files whose pending working-tree changes were discarded. */
  filesReset: string[];
}

/** Reset current HEAD to specified state. Can be used to unstage files (soft), discard commits (mixed), or discard all changes (hard). */
export const gitReset = tool<GitResetInput, GitResetOutput>("mcp__git__git_reset");

export interface GitSetWorkingDirInput {
  /** Absolute path to the git repository to use as the working directory. */
  path: string;
  /**
   * Validate that the path is a Git repository.
   * @default true
   */
  validateGitRepo?: boolean;
  /**
   * If not a Git repository, initialize it with 'git init'.
   * @default false
   */
  initializeIfNotPresent?: boolean;
}

export interface GitSetWorkingDirOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** The working directory that was set. */
  path: string;
  /** Confirmation message. */
  message: string;
  /** Best-effort repository snapshot. Omitted when the path is not a git repository (see enrichmentWarnings). */
  repository?: {
    status: {
      /** Current branch (null on detached HEAD). */
      branch: string | null;
      /** True when the working tree has no changes. */
      isClean: boolean;
      /** Paths staged for the next commit. */
      staged: string[];
      /** Paths with unstaged modifications. */
      unstaged: string[];
      /** Untracked paths. */
      untracked: string[];
      /** Paths with merge conflicts. */
      conflicts: string[];
      /** Upstream ref being tracked by the current branch. */
      upstream?: string;
      /** Commits ahead of upstream (if tracking). */
      ahead?: number;
      /** Commits behind upstream (if tracking). */
      behind?: number;
    };
    /** Up to 2 most recent commits on the current branch. */
    recentCommits: {
      /** Short commit hash. */
      hash: string;
      /** Author name. */
      author: string;
      /** Author date (ISO 8601). */
      date: string;
      /** First line of the commit message. */
      subject: string;
    }[];
    /** Up to 2 most recent tags by creator date. */
    recentTags: {
      /** Tag name. */
      name: string;
      /** Creator date (ISO 8601); absent for lightweight tags with no metadata. */
      date?: string;
      /** Tagger identity (annotated tags only). */
      tagger?: string;
      /** First line of the tag annotation (annotated tags only). */
      annotationSubject?: string;
      /** Remaining annotation body after the subject (annotated tags only). */
      annotationBody?: string;
    }[];
    /** Configured remote repositories. */
    remotes: {
      /** Remote name. */
      name: string;
      /** Fetch URL. */
      fetchUrl: string;
      /** Push URL (may differ from fetch URL). */
      pushUrl: string;
    }[];
  };
  /** Actionable notes when snapshot gathering was skipped or partially failed. */
  enrichmentWarnings?: string[];
}

/** Set the session working directory for all git operations so subsequent calls can omit the path parameter. Always returns a repository snapshot (status, recent commits, recent tags, remotes) to orient the caller. */
export const gitSetWorkingDir = tool<GitSetWorkingDirInput, GitSetWorkingDirOutput>("mcp__git__git_set_working_dir");

export interface GitShowInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** Git object to show (commit hash, branch, tag, tree, or blob). */
  object: string;
  /** Output format for the git object. Use "raw" for unprocessed git output. */
  format?: "raw";
  /**
   * Show diffstat instead of full diff.
   * @default false
   */
  stat?: boolean;
  /** View specific file at a given commit reference. When provided, shows the file content from the specified object. Must not start with "-". */
  filePath?: string;
}

export interface GitShowOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Object identifier. */
  object: string;
  /** Type of git object shown. */
  type: "commit" | "tag" | "tree" | "blob";
  /** Formatted output showing the object details. */
  content: string;
  /** Additional metadata about the object. */
  metadata?: { [k: string]: any };
}

/** Show details of a git object (commit, tree, blob, or tag). Displays commit information and the diff of changes introduced. */
export const gitShow = tool<GitShowInput, GitShowOutput>("mcp__git__git_show");

export interface GitStashInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /** The stash operation to perform. Defaults to push (save current changes). */
  mode?: "list" | "push" | "pop" | "apply" | "drop" | "clear";
  /** Stash message description (for push operation). */
  message?: string;
  /** Stash reference like stash@{0} (for pop/apply/drop operations). Must not start with "-". */
  stashRef?: string;
  /**
   * Include untracked files in the stash (for push operation).
   * @default false
   */
  includeUntracked?: boolean;
  /**
   * Don't revert staged changes (for push operation).
   * @default false
   */
  keepIndex?: boolean;
  /** For list mode: cap the number of stash entries returned (applied at the git command). */
  limit?: number;
}

export interface GitStashOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Operation mode that was performed. */
  mode: string;
  /** List of stashes (for list mode). */
  stashes?: {
    /** Stash reference (e.g., stash@{0}). */
    ref: string;
    /** Stash index number. */
    index: number;
    /** Branch name when stashed. */
    branch: string;
    /** Stash description. */
    description: string;
    /** Unix timestamp when stashed. */
    timestamp: number;
  }[];
  /** Created stash reference (for push mode). */
  created?: string;
  /** Applied stash reference (for pop/apply mode). */
  applied?: string;
  /** Dropped stash reference (for drop mode). */
  dropped?: string;
  /** Whether operation had conflicts. */
  conflicts?: boolean;
}

/** Manage stashes: list stashes, save current changes (push), restore changes (pop/apply), or remove stashes (drop/clear). */
export const gitStash = tool<GitStashInput, GitStashOutput>("mcp__git__git_stash");

export interface GitStatusInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * Include untracked files in the output.
   * @default true
   */
  includeUntracked?: boolean;
}

export interface GitStatusOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Current branch name. */
  currentBranch: string | null;
  /** Upstream ref the current branch is tracking (if any). */
  upstream?: string;
  /** Commits ahead of upstream (if tracking). */
  ahead?: number;
  /** Commits behind upstream (if tracking). */
  behind?: number;
  /** True if working directory is clean (no staged, unstaged, or untracked changes). When includeUntracked is false, untracked files are excluded from this check. */
  isClean: boolean;
  /** Changes that have been staged for the next commit. */
  stagedChanges: {
    /** Files added to the index (staged). */
    added?: string[];
    /** Files modified and staged. */
    modified?: string[];
    /** Files deleted and staged. */
    deleted?: string[];
    /** Files renamed and staged. */
    renamed?: string[];
    /** Files copied and staged. */
    copied?: string[];
  };
  /** Changes in the working directory that have not been staged. */
  unstagedChanges: {
    /** Files added but not staged. */
    added?: string[];
    /** Files modified but not staged. */
    modified?: string[];
    /** Files deleted but not staged. */
    deleted?: string[];
  };
  /** Files in the working directory not tracked by git. */
  untrackedFiles: string[];
  /** Files with merge conflicts that need resolution. */
  conflictedFiles: string[];
}

/** Show the working tree status including staged, unstaged, and untracked files. */
export const gitStatus = tool<GitStatusInput, GitStatusOutput>("mcp__git__git_status");

export interface GitTagInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * The tag operation to perform.
   * @default "list"
   */
  mode?: "list" | "create" | "delete" | "verify";
  /** Tag name for create/delete/verify operations. */
  tagName?: string;
  /** Commit to tag (default: HEAD for create operation). */
  commit?: string;
  /** Tag message. Providing a message always produces an annotated tag (git does not support messages on lightweight tags). For release tags, summarize notable changes. */
  message?: string;
  /** Create an annotated tag with a default "Tag <name>" message. Only effective when no message is provided and signing is disabled — otherwise the tag is always annotated. */
  annotated?: boolean;
  /**
   * Overwrite an existing tag (create mode only; has no effect on list or delete).
   * @default false
   */
  force?: boolean;
  /** For list mode: cap the number of tags returned (applied at the git command via `--count=N`). Use on repos with many tags. */
  limit?: number;
}

export interface GitTagOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Operation mode that was performed. */
  mode: string;
  /** List of tags (for list mode). */
  tags?: {
    /** Tag name. */
    name: string;
    /** Commit hash the tag points to. */
    commit: string;
    /** First line of the tag annotation (annotated tags only). See `annotationBody` for the remainder. */
    message?: string;
    /** Remaining annotation body after the subject line (annotated tags only). */
    annotationBody?: string;
    /** Tagger name and email. */
    tagger?: string;
    /** Tag creation timestamp. */
    timestamp?: number;
  }[];
  /** Created tag name (for create mode). */
  created?: string;
  /** Deleted tag name (for delete mode). */
  deleted?: string;
  /** Whether the created tag was signed. Only populated for create mode. False when GIT_SIGN_COMMITS=false or when signing failed and fell back to unsigned. */
  signed?: boolean;
  /** Populated only when signing was requested but failed, and the tag was created unsigned as a fallback. */
  signingWarning?: string;
  /** Verified tag name (for verify mode). Echoes the input so callers can correlate results in batched flows. */
  verifiedTag?: string;
  /** Whether the signature validated (for verify mode). `false` for unsigned tags, missing trust config, bad signatures, or unparseable output — inspect `warning` to distinguish. */
  verified?: boolean;
  /** Signature algorithm family when detectable from `git tag -v` output (verify mode). Absent for unsigned tags or unparseable output. */
  signatureType?: "gpg" | "ssh" | "x509";
  /** Signer identity as emitted by git — e.g., `Name <email>` for GPG or the SSH principal. Verify mode only. */
  signerIdentity?: string;
  /** Key material emitted by git — GPG fingerprint/key ID or SSH key fingerprint (`SHA256:…`). Verify mode only; absent when git did not surface it. */
  signerKey?: string;
  /** Populated on verify failure with a human-readable reason distinguishing unsigned tags, missing trust configuration, bad signatures, and unparseable output. */
  warning?: string;
  /** Raw stderr from `git tag -v` for callers that need the full verification output (verify mode only). */
  rawOutput?: string;
}

/** Manage tags: list all tags, create a new tag, delete a tag, or verify a signed tag. Tags are used to mark specific points in history (releases, milestones). Verify runs `git tag -v` and returns a structured result distinguishing unsigned tags, missing trust configuration, bad signatures, and valid signatures. */
export const gitTag = tool<GitTagInput, GitTagOutput>("mcp__git__git_tag");

export interface GitWorktreeInput {
  /** Path to the Git repository. Defaults to session working directory set via git_set_working_dir. */
  path?: string;
  /**
   * The worktree operation to perform.
   * @default "list"
   */
  mode?: "list" | "add" | "remove" | "move" | "prune";
  /** Path for the new worktree (for add/move operations). Must not start with "-". */
  worktreePath?: string;
  /** For add operation: create a NEW branch with this name in the new worktree. Fails if the branch already exists — use `commitish` to check out an existing branch instead. */
  branch?: string;
  /** For add operation: check out this existing branch/commit/tag in the new worktree (no new branch is created). */
  commitish?: string;
  /**
   * Force operation (for remove operation with uncommitted changes).
   * @default false
   */
  force?: boolean;
  /** New path for the worktree (for move operation). Must not start with "-". */
  newPath?: string;
  /**
   * Create worktree with detached HEAD (for add operation).
   * @default false
   */
  detach?: boolean;
  /**
   * Provide detailed output for worktree operations.
   * @default false
   */
  verbose?: boolean;
  /**
   * Preview the operation without executing it (for prune operation).
   * @default false
   */
  dryRun?: boolean;
}

export interface GitWorktreeOutput {
  /** Indicates if the operation was successful. */
  success: boolean;
  /** Operation mode that was performed. */
  mode: string;
  /** List of worktrees (for list mode). */
  worktrees?: {
    /** Absolute path to the worktree. */
    path: string;
    /** HEAD commit hash in this worktree. */
    head: string;
    /** Branch checked out (if not detached). */
    branch?: string;
    /** Whether worktree is bare. */
    bare: boolean;
    /** Whether HEAD is detached. */
    detached: boolean;
    /** Whether the worktree is locked. */
    locked: boolean;
    /** Whether the worktree can be pruned. */
    prunable: boolean;
  }[];
  /** Added worktree path (for add mode). */
  added?: string;
  /** Removed worktree path (for remove mode). */
  removed?: string;
  /** Move operation info (for move mode). */
  moved?: {
    from: string;
    to: string;
  };
  /** Pruned worktree paths (for prune mode). */
  pruned?: string[];
}

/** Manage multiple working trees: list worktrees, add new worktrees for parallel work, remove worktrees, or move worktrees to new locations. */
export const gitWorktree = tool<GitWorktreeInput, GitWorktreeOutput>("mcp__git__git_worktree");

export interface GitWrapupInstructionsInput {
  /** Acknowledgement to initiate the wrap-up workflow. */
  acknowledgement: "Y" | "y" | "Yes" | "yes";
  /** Controls whether the tag criterion appears in the emitted protocol. Omit or set `true` to include the tag step. Set `false` to omit it entirely — e.g., when tagging is deferred to a separate release step. */
  createTag?: boolean;
}

export interface GitWrapupInstructionsOutput {
  /** The wrap-up protocol to satisfy before the session ships. */
  instructions: string;
  /** Best-effort repository snapshot. Omitted when no working directory is set or when the path is not a git repository. */
  repository?: {
    status: {
      /** Current branch (null on detached HEAD). */
      branch: string | null;
      /** True when the working tree has no changes. */
      isClean: boolean;
      /** Paths staged for the next commit. */
      staged: string[];
      /** Paths with unstaged modifications. */
      unstaged: string[];
      /** Untracked paths. */
      untracked: string[];
      /** Paths with merge conflicts. */
      conflicts: string[];
      /** Upstream ref being tracked by the current branch. */
      upstream?: string;
      /** Commits ahead of upstream (if tracking). */
      ahead?: number;
      /** Commits behind upstream (if tracking). */
      behind?: number;
    };
    /** Up to 2 most recent commits on the current branch. */
    recentCommits: {
      /** Short commit hash. */
      hash: string;
      /** Author name. */
      author: string;
      /** Author date (ISO 8601). */
      date: string;
      /** First line of the commit message. */
      subject: string;
    }[];
    /** Up to 2 most recent tags by creator date. */
    recentTags: {
      /** Tag name. */
      name: string;
      /** Creator date (ISO 8601); absent for lightweight tags with no metadata. */
      date?: string;
      /** Tagger identity (annotated tags only). */
      tagger?: string;
      /** First line of the tag annotation (annotated tags only). */
      annotationSubject?: string;
      /** Remaining annotation body after the subject (annotated tags only). */
      annotationBody?: string;
    }[];
  };
  /** Actionable notes when snapshot gathering was skipped or partially failed. */
  enrichmentWarnings?: string[];
}

/** Returns a Git wrap-up protocol: an acceptance-criteria checklist the agent must satisfy before the session is considered shipped. Uses the operator's custom instructions if configured, otherwise emits a generic goals-strict/mechanism-generic default. Enriches the response with a repository snapshot (status, recent commits, recent tags) so the agent has immediate orientation for the commit and release steps. */
export const gitWrapupInstructions = tool<GitWrapupInstructionsInput, GitWrapupInstructionsOutput>("mcp__git__git_wrapup_instructions");

export interface PromptsGetInput {
  name: string;
  arguments?: { [k: string]: string };
}

export interface PromptsGetOutput {
  description?: string;
  messages: {
    role: "user" | "assistant";
    content: any;
  }[];
}

/** Gets the messages of a prompt of this server. In a program also `prompts.get(name, args)`. */
export const promptsGet = tool<PromptsGetInput, PromptsGetOutput>("mcp__git__prompts/get");

export interface PromptsListInput { [k: string]: never }

export interface PromptsListOutput {
  prompts: {
    name: string;
    title?: string;
    description?: string;
    arguments?: {
      name: string;
      description?: string;
      required?: boolean;
    }[];
  }[];
}

/** Lists the prompts of this server and their arguments. In a program also `prompts.list()`. */
export const promptsList = tool<PromptsListInput, PromptsListOutput>("mcp__git__prompts/list");

export interface ResourcesListInput { [k: string]: never }

export interface ResourcesListOutput {
  resources: {
    uri: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
    size?: number;
  }[];
  resourceTemplates: {
    uriTemplate: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
  }[];
}

/** Lists the resources of this server, and the templates (RFC 6570) of the URIs of those that it does not list. In a program also `resources.list()`. */
export const resourcesList = tool<ResourcesListInput, ResourcesListOutput>("mcp__git__resources/list");

export interface ResourcesReadInput {
  uri: string;
}

export interface ResourcesReadOutput {
  contents: {
    uri: string;
    mimeType?: string;
    text?: string;
    blob?: string;
  }[];
}

/** Reads a resource of this server: each of its contents is `text`, or a `blob` in base64, which `bytesOf` decodes. In a program also `resources.read(uri)`. */
export const resourcesRead = tool<ResourcesReadInput, ResourcesReadOutput>("mcp__git__resources/read");

export const resources = {
  /** All resources, and templates of URIs. */
  list: () => tool<ResourcesListInput, ResourcesListOutput>("mcp__git__resources/list")({}),
  /** The contents of one resource. */
  read: (uri: string) => tool<ResourcesReadInput, ResourcesReadOutput>("mcp__git__resources/read")({ uri }),
};

export const prompts = {
  /** The messages of one prompt. */
  get: (name: string, args?: Record<string, string>) => tool<PromptsGetInput, PromptsGetOutput>("mcp__git__prompts/get")(args === undefined ? { name } : { name, arguments: args }),
  /** All prompts, and their arguments. */
  list: () => tool<PromptsListInput, PromptsListOutput>("mcp__git__prompts/list")({}),
};
