/** Tools of the MCP server "git-cyanheads". Written by `ptc generate`: edits are lost. */

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
export const gitAdd = tool<GitAddInput, GitAddOutput>("mcp__git_cyanheads__git_add");

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
export const gitShow = tool<GitShowInput, GitShowOutput>("mcp__git_cyanheads__git_show");
