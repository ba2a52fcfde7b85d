/**
 * The files in data/
 * Tools of the MCP server "files". Written by `ptc generate`: edits are lost.
 */

import { tool } from "../../runtime.js";

export interface CreateDirectoryInput {
  path: string;
}

export interface CreateDirectoryOutput {
  content: string;
}

/** Create a new directory or ensure a directory exists. Can create multiple nested directories in one operation. If the directory already exists, this operation will succeed silently. Perfect for setting up directory structures for projects or ensuring required paths exist. Only works within allowed directories. */
export const createDirectory = tool<CreateDirectoryInput, CreateDirectoryOutput>("mcp__files__create_directory");

export interface DirectoryTreeInput {
  path: string;
  /** @default [] */
  excludePatterns?: string[];
}

export interface DirectoryTreeOutput {
  content: string;
}

/** Get a recursive tree view of files and directories as a JSON structure. Each entry includes 'name', 'type' (file/directory), and 'children' for directories. Files have no children array, while directories always have a children array (which may be empty). The output is formatted with 2-space indentation for readability. Only works within allowed directories. */
export const directoryTree = tool<DirectoryTreeInput, DirectoryTreeOutput>("mcp__files__directory_tree");

export interface EditFileInput {
  path: string;
  edits: {
    /** Text to search for - must match exactly */
    oldText: string;
    /** Text to replace with */
    newText: string;
  }[];
  /**
   * Preview changes using git-style diff format
   * @default false
   */
  dryRun?: boolean;
}

export interface EditFileOutput {
  content: string;
}

/** Make line-based edits to a text file. Each edit replaces exact line sequences with new content. Returns a git-style diff showing the changes made. Only works within allowed directories. */
export const editFile = tool<EditFileInput, EditFileOutput>("mcp__files__edit_file");

export interface GetFileInfoInput {
  path: string;
}

export interface GetFileInfoOutput {
  content: string;
}

/** Retrieve detailed metadata about a file or directory. Returns comprehensive information including size, creation time, last modified time, permissions, and type. This tool is perfect for understanding file characteristics without reading the actual content. Only works within allowed directories. */
export const getFileInfo = tool<GetFileInfoInput, GetFileInfoOutput>("mcp__files__get_file_info");

export interface ListAllowedDirectoriesInput { [k: string]: never }

export interface ListAllowedDirectoriesOutput {
  content: string;
}

/** Returns the list of directories that this server is allowed to access. Subdirectories within these allowed directories are also accessible. Use this to understand which directories and their nested paths are available before trying to access files. */
export const listAllowedDirectories = tool<ListAllowedDirectoriesInput, ListAllowedDirectoriesOutput>("mcp__files__list_allowed_directories");

export interface ListDirectoryInput {
  path: string;
}

export interface ListDirectoryOutput {
  content: string;
}

/** Get a detailed listing of all files and directories in a specified path. Results clearly distinguish between files and directories with [FILE] and [DIR] prefixes. This tool is essential for understanding directory structure and finding specific files within a directory. Only works within allowed directories. */
export const listDirectory = tool<ListDirectoryInput, ListDirectoryOutput>("mcp__files__list_directory");

export interface ListDirectoryWithSizesInput {
  path: string;
  /**
   * Sort entries by name or size
   * @default "name"
   */
  sortBy?: "name" | "size";
}

export interface ListDirectoryWithSizesOutput {
  content: string;
}

/** Get a detailed listing of all files and directories in a specified path, including sizes. Results clearly distinguish between files and directories with [FILE] and [DIR] prefixes. This tool is useful for understanding directory structure and finding specific files within a directory. Only works within allowed directories. */
export const listDirectoryWithSizes = tool<ListDirectoryWithSizesInput, ListDirectoryWithSizesOutput>("mcp__files__list_directory_with_sizes");

export interface MoveFileInput {
  source: string;
  destination: string;
}

export interface MoveFileOutput {
  content: string;
}

/** Move or rename files and directories. Can move files between directories and rename them in a single operation. If the destination exists, the operation will fail. Works across different directories and can be used for simple renaming within the same directory. Both source and destination must be within allowed directories. */
export const moveFile = tool<MoveFileInput, MoveFileOutput>("mcp__files__move_file");

export interface ReadFileInput {
  path: string;
  /** If provided, returns only the last N lines of the file */
  tail?: number;
  /** If provided, returns only the first N lines of the file */
  head?: number;
}

export interface ReadFileOutput {
  content: string;
}

/** Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead. */
export const readFile = tool<ReadFileInput, ReadFileOutput>("mcp__files__read_file");

export interface ReadMediaFileInput {
  path: string;
}

export interface ReadMediaFileOutput {
  content: ({
    type: "image" | "audio";
    data: string;
    mimeType: string;
  } | {
    type: "resource";
    resource: {
      uri: string;
      mimeType?: string;
      blob: string;
    };
  })[];
}

/** Read a file and return it as a base64-encoded content block with its MIME type. Image and audio files are returned as image/audio content; any other file type is returned as an embedded resource. Only works within allowed directories. */
export const readMediaFile = tool<ReadMediaFileInput, ReadMediaFileOutput>("mcp__files__read_media_file");

export interface ReadMultipleFilesInput {
  /** Array of file paths to read. Each path must be a string pointing to a valid file within allowed directories. */
  paths: string[];
}

export interface ReadMultipleFilesOutput {
  content: string;
}

/** Read the contents of multiple files simultaneously. This is more efficient than reading files one by one when you need to analyze or compare multiple files. Each file's content is returned with its path as a reference. Failed reads for individual files won't stop the entire operation. Only works within allowed directories. */
export const readMultipleFiles = tool<ReadMultipleFilesInput, ReadMultipleFilesOutput>("mcp__files__read_multiple_files");

export interface ReadTextFileInput {
  path: string;
  /** If provided, returns only the last N lines of the file */
  tail?: number;
  /** If provided, returns only the first N lines of the file */
  head?: number;
}

export interface ReadTextFileOutput {
  content: string;
}

/** Read the complete contents of a file from the file system as text. Handles various text encodings and provides detailed error messages if the file cannot be read. Use this tool when you need to examine the contents of a single file. Use the 'head' parameter to read only the first N lines of a file, or the 'tail' parameter to read only the last N lines of a file. Operates on the file as text regardless of extension. Only works within allowed directories. */
export const readTextFile = tool<ReadTextFileInput, ReadTextFileOutput>("mcp__files__read_text_file");

export interface SearchFilesInput {
  path: string;
  pattern: string;
  /** @default [] */
  excludePatterns?: string[];
}

export interface SearchFilesOutput {
  content: string;
}

/** Recursively search for files and directories matching a pattern. The patterns should be glob-style patterns that match paths relative to the working directory. Use pattern like '*.ext' to match files in current directory, and '**\/*.ext' to match files in all subdirectories. Returns full paths to all matching items. Great for finding files when you don't know their exact location. Only searches within allowed directories. */
export const searchFiles = tool<SearchFilesInput, SearchFilesOutput>("mcp__files__search_files");

export interface WriteFileInput {
  path: string;
  content: string;
}

export interface WriteFileOutput {
  content: string;
}

/** Create a new file or completely overwrite an existing file with new content. Use with caution as it will overwrite existing files without warning. Handles text content with proper encoding. Only works within allowed directories. */
export const writeFile = tool<WriteFileInput, WriteFileOutput>("mcp__files__write_file");
